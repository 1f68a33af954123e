// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "message.hpp"
#include "porter/algo/algorithm.hpp"
#include "porter/comm/exchange.hpp"
#include "porter/core/lender.hpp"
#include "sweep_mask.hpp"

namespace porter {

/// Compressed gossip with error feedback, for one or more vectors ("channels") that travel in one
/// message. For each channel it holds the surrogates Q that neighbours also hold, and their
/// disagreement. A gossip step is:
///
/// start(step)
/// publish(agent, S):   of every agent, in any order and on any thread
///   Q <- Q + C(S - Q)     one message per agent, the same bytes to every neighbour
/// collect():
///   the messages of all neighbours are here
/// mix(work):           work(tile, gap) for every tile of every hosted agent, on all threads
///   gap(channel)          the tile of (W - I)^T Q
///
/// S - Q is rounded to float once, when it is published. Q moves only by decoded payloads, at the
/// sender too, so both ends hold the same bits. Each receiver adds in ascending order of sender, so
/// results do not depend on threads.
///
/// Few agents with long messages: the gaps are sums over the rows of Q, made where they are used
/// and stored nowhere. Else they are kept incrementally: k non-zeros cost k * degree additions, not
/// d * degree. A stored gap in float drifts from its Q, step by step; there it is built anew from Q
/// every 64 steps, summed in double and rounded once. Which steps these are depends on their number
/// alone, so a resumed run does the same.
///
/// With an exchange only hosted agents publish. Their messages leave when they are published, and
/// collect waits for those of agents in other processes, which move copies of the senders' Q here.
/// Ten processes' copies are in no cache, so every way through them counts: they take a message
/// when the gaps are summed up, tile by tile, and where gaps are stored and nothing reads the
/// copies they take eight messages at once. In every eighth step and in the last one messages carry
/// a digest of the sender's Q; a copy that disagrees is reported and asked for anew, and repaired
/// two steps later.
template <class Real>
class BasicGossip {
 public:
  struct Channel {
    Draw use;                       ///< the public stream of its compressor
    std::span<const double> start;  ///< Q starts at this row at every agent; empty: zero
  };

  BasicGossip(const AlgorithmSetup& setup, const Compressor& compressor,
              std::vector<Channel> channels);

  /// Gossip step 1, 2, ...: it addresses the random draws.
  void start(std::uint32_t step);
  /// One row per channel, in their order.
  void publish(std::size_t agent, std::initializer_list<std::span<const Real>> states);
  void collect();
  /// work(const Tile&, gap): each tile once; `gap` as above, each channel once.
  template <class Work>
  void mix(ThreadPool& pool, const Work& work);

  Traffic& traffic() { return traffic_; }
  void append_state(std::vector<NamedRows>& state);

 private:
  // Messages of an agent elsewhere that the copy of its Q has not taken yet.
  struct Backlog {
    std::size_t size = 0;        // with the latest, which is where all senders' latest are
    std::vector<Message> older;  // the first size - 1 of them; places are kept
  };
  struct Line {
    Draw use;
    double bound;                   // of a message's norm and of Q's
    BasicRows<Real> Q, gap;         // no gap where they are not stored
    std::vector<Message> messages;  // per sender: the latest, as every receiver decodes it
    std::vector<Backlog> backlogs;  // per sender
  };
  // A copy of Q that differs from its sender's.
  struct Wrong {
    std::uint32_t asked = 0;  // the last step whose message asks for it; 0: none yet
    std::uint32_t times = 0;
  };

  /// A stretch of coordinates of the hosted agents, with its gaps: channel by channel, agent by
  /// agent.
  using Gaps = std::vector<Real>;
  void sum_gaps(std::size_t first, std::size_t size, Gaps& gaps) const;

  std::span<const Real> stored_gap(std::size_t channel, const Tile& tile);
  void rebuild(const BasicRows<Real>& Q, const Tile& tile, std::span<Real> gap) const;
  RngStream stream(const Line& line, std::size_t sender) const;

  // What is about other processes: gossip_exchange.cpp.
  void start_exchange(std::uint32_t step);
  void send(std::size_t agent);
  void receive();
  void take(const Exchange::Incoming& message);
  void catch_up(std::size_t first, std::size_t size);
  void caught_up();
  void catch_up(Line& line, std::size_t sender, std::size_t first, std::size_t size);
  void catch_up_all();
  void judge(const Exchange::Incoming& message);
  void repair(const Exchange::Incoming& message);
  void mend_gaps();
  std::uint64_t digest(std::size_t agent) const;
  bool compares_copies() const;

  const Compressor& compressor_;
  std::uint64_t seed_;
  Mask mask_;
  std::optional<SweepMask> sweep_;
  std::span<const std::uint32_t> positions_;  // of this step, where the agents sweep
  std::uint32_t step_ = 0, last_step_;
  bool rebuild_ = false;                             // the gaps of this step come from Q
  std::vector<std::vector<MixingWeight>> incoming_;  // row i of (W - I)^T, ascending
  std::vector<std::size_t> degrees_;
  bool stores_gaps_ = true;
  bool copies_lag_ = false;  // they need not be up to date when the messages are in
  std::vector<std::uint32_t> hosted_;
  std::vector<std::vector<MixingWeight>> incoming_to_hosted_;
  Exchange* exchange_;
  std::vector<Line> lines_;
  Lender<Gaps> gaps_;  // where they are not stored
  Traffic traffic_;

  std::map<std::uint32_t, Wrong> wrong_;      // by sender
  std::vector<std::uint32_t> wanted_;         // of them, those that this step's messages ask for
  std::set<std::uint32_t> owed_, owed_next_;  // hosted agents that were asked for their Q
  std::set<std::uint32_t> repaired_;          // senders whose copies this step has replaced
  std::vector<bool> unproven_;                // per agent: hears somebody whose copy is wrong
};

template <class Real>
template <class Work>
void BasicGossip<Real>::mix(ThreadPool& pool, const Work& work) {
  const std::size_t agents = hosted_.size(), dim = lines_.front().Q.dim();
  if (stores_gaps_) {
    for_each_tile(pool, hosted_, dim, [&](const Tile& tile) {
      for (auto& line : lines_) prefetch(tile.of(line.gap.row(tile.agent)));
      work(tile, [&](std::size_t channel) { return stored_gap(channel, tile); });
    });
    return;
  }
  const std::size_t stretch = exchange_ ? kTileSize : kTileSize / 2;  // messages go by whole tiles
  pool.parallel_for((dim + stretch - 1) / stretch, [&](std::size_t piece) {
    const std::size_t first = piece * stretch, size = std::min(stretch, dim - first);
    const auto gaps = gaps_.take();
    if (exchange_) catch_up(first, size);
    sum_gaps(first, size, *gaps);
    for (std::size_t i = 0; i < agents; ++i)
      work(Tile{hosted_[i], first, size}, [&](std::size_t channel) {
        const std::size_t row = channel * agents + i;
        return std::span<const Real>(*gaps).subspan(row * whole_lines<Real>(size), size);
      });
  });
  if (exchange_) caught_up();
}
using Gossip = BasicGossip<double>;

}  // namespace porter
