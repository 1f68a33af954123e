// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "message_link.hpp"
#include "mix_rows.hpp"
#include "porter/core/thread_pool.hpp"
#include "shared_messages.hpp"
#include "shared_rows.hpp"

namespace porter {

/// For each channel the surrogates Q that neighbours also hold, and their disagreement, the gap
/// (W - I)^T Q. Q moves only by what messages say, at the sender too, so both ends hold the same
/// bits. Each receiver adds in ascending order of sender, so results do not depend on threads.
///
/// Few agents with long messages: the gaps are sums over the rows of Q, made where they are used
/// and stored nowhere. Else they are kept incrementally: k non-zeros cost k * degree additions, not
/// d * degree. A stored gap in float drifts from its Q, step by step; there it is built anew from Q
/// every 64 steps, summed in double and rounded once. Which steps these are depends on their number
/// alone, so a resumed run does the same.
///
/// Copies of the Q of agents in other processes are in no cache, so every way through them counts:
/// they take a message when the gaps are summed up, tile by tile, and where gaps are stored and
/// nothing reads the copies they take several messages at once. They are proved on the same way,
/// when a mixing was asked for it. Where few agents are in processes that share memory there are no
/// copies: all read the Q that its own agent moves, and where gaps are stored its messages, too.
///
/// In a network that changes nobody has heard all that another has said, so nobody keeps anything:
/// Q is zero before every message, and the message is all of the state. Gaps are summed up.
template <class Real>
class Surrogates {
 public:
  /// Team and link outlive it; the link has the same channels.
  Surrogates(const AlgorithmSetup& setup, const Team& team, MessageLink& link,
             const std::vector<Channel>& channels);

  void start(std::uint32_t step);
  const BasicRows<Real>& Q(std::size_t channel) const { return channels_[channel].Q; }
  std::span<const Real> Q(std::size_t channel, std::size_t agent) const {
    return {channels_[channel].rows[agent], dim_};
  }
  /// Where gaps are stored: the matrices, for CutAhead, which moves them as move and mix do.
  BasicRows<Real>& rows(std::size_t channel) { return channels_[channel].Q; }
  BasicRows<Real>& gaps(std::size_t channel) { return channels_[channel].gap; }
  /// Whether the stored gaps of this step come from Q.
  bool rebuilds() const { return rebuild_; }
  void rebuild_gap(std::size_t channel, const Tile& tile) {
    rebuild(channels_[channel].rows, tile, tile.of(channels_[channel].gap.row(tile.agent)));
  }

  /// Q <- Q + C(S - Q) by a hosted agent's own message. On any thread.
  void move(std::size_t channel, std::size_t agent);
  /// The same for the copies of a sender elsewhere, now or when they are needed.
  void arrived(std::size_t sender);
  /// Whether the agent's Q is read where its own process keeps it.
  bool shares(std::size_t agent) const { return shared_ && shared_->holds(agent); }
  /// No gap of an agent that hears one of these is built from its copies of Q.
  template <class Senders>
  void distrust(const Senders& wrong) {
    for (const auto agent : team_.hosted)
      unproven_[agent] = std::ranges::any_of(
          link_.incoming(agent), [&](const MixingWeight& w) { return wrong.contains(w.node); });
  }

  /// work(const Tile&, gap): each tile of every hosted agent once; gap(channel), each channel once,
  /// is the tile of (W - I)^T Q.
  template <class Work>
  void mix(const Work& work);

  /// Whether long rows of many agents go through the caches in a round, so that memory is best read
  /// from start to end by those who use it; then messages are added to a copy of a tile.
  bool streams() const { return stores_gaps_ && dim_ >= kTileSize; }

  /// A digest of the Q of all channels, of a hosted agent.
  std::uint64_t digest(std::size_t agent) const;
  /// The same of a sender elsewhere, whose copies have taken all messages then. Error{protocol} if
  /// one of its Q is beyond its bound: many messages may be too much together.
  std::uint64_t proof(std::size_t sender);
  /// Whether mix reads all copies; then it can take their proofs along.
  bool mixes_copies() const { return !stores_gaps_; }
  void prove_while_mixing() { proving_ = true; }
  /// As proof(sender), by the last mix.
  std::uint64_t mixed_proof(std::size_t sender) const;
  /// The copy of a sender's Q becomes this: the bytes of doubles, a vector per channel.
  void replace(std::size_t sender, std::span<const std::span<const std::byte>> dense);
  /// A gap is a sum of messages, so it may be right where a copy of Q was wrong; then it stays, and
  /// the run keeps its bits. Where it is not what the repaired Q say, it becomes that. Between two
  /// steps, when all messages are in. How many entries were changed.
  std::size_t mend_gaps(const std::set<std::uint32_t>& repaired);

  void append_state(std::vector<NamedRows>& state);

 private:
  // Messages of an agent elsewhere that the copy of its Q has not taken yet, in this order.
  struct Backlog {
    std::size_t older = 0;  // so many of those kept; places stay
    bool latest = false;    // and the one that the link has
    std::vector<Message> kept = {};

    void clear() {
      older = 0;
      latest = false;
    }
  };
  struct State {
    BasicRows<Real> Q, gap;         // no gap where they are not stored
    std::vector<Backlog> backlogs;  // per sender
    std::vector<const Real*> rows;  // per agent: where its Q is, in the matrix or in shared memory
    std::vector<Message> previous;  // per agent that shares its Q: the message of the last step
  };
  /// Of a stretch of a copy, and of all of them together.
  struct Measure {
    double squares = 0;
    std::uint64_t digest = 0;

    void operator+=(const Measure& other) {
      squares += other.squares;
      digest += other.digest;
    }
  };
  /// A stretch of coordinates of the hosted agents, with its gaps: channel by channel, agent by
  /// agent.
  using Gaps = std::vector<Real, PageAllocator<Real>>;

  // Of copies: whole tiles, as messages go by them. Memory answers long stretches faster, and those
  // of all copies of a channel are to stay in the second-level cache.
  static constexpr std::size_t kCopyStretch = 2 * kTileSize;
  std::size_t stretches() const { return (dim_ + kCopyStretch - 1) / kCopyStretch; }

  /// With processes of this machine, if they can; `most`: coordinates in a message.
  void share(Exchange& exchange, std::size_t channels, std::size_t most);
  void start_shared();
  void forget();
  void sum_gaps(std::size_t first, std::size_t size, Gaps& gaps);
  Ahead<Real> ahead_of(std::size_t channel, std::size_t end) const;
  std::span<const Real> stored_gap(std::size_t channel, const Tile& tile, Gaps& gaps);
  void rebuild(std::span<const Real* const> rows, const Tile& tile, std::span<Real> gap) const;
  void catch_up(std::size_t channel, std::size_t sender, std::size_t first, std::size_t size);
  Measure measure(std::size_t channel, std::size_t sender, std::size_t first,
                  std::size_t size) const;
  /// In `measured_`.
  std::size_t place_of(std::size_t stretch, std::size_t channel, std::size_t copy) const {
    return (stretch * channels_.size() + channel) * copied_.size() + copy;
  }
  void caught_up();
  void catch_up_all();

  const Team& team_;
  MessageLink& link_;
  std::size_t dim_;
  bool forgets_;  // the network changes
  std::vector<std::vector<MixingWeight>> incoming_to_hosted_;
  std::vector<std::uint32_t> copied_;  // agents of other processes whose Q are not shared
  bool stores_gaps_, copies_lag_;      // they need not be up to date when the messages are in
  std::optional<SharedRows<Real>> shared_;
  std::optional<SharedMessages> shared_messages_;  // where gaps are stored, too
  std::uint32_t step_ = 0;
  bool lent_ = true;      // Q of hosted agents, if shared, is in the matrices, for others to set
  bool goes_on_ = false;  // this step follows the last one that was done, and what it left
  bool rebuild_ = false;  // the gaps of this step come from Q
  std::vector<bool> unproven_;  // per agent
  std::vector<State> channels_;
  ScratchPool<Gaps> gaps_;         // those at work
  bool proving_ = false;           // the next mix measures the copies
  std::vector<Measure> measured_;  // by the last that did: per stretch, channel and copy
};

template <class Real>
template <class Work>
void Surrogates<Real>::mix(const Work& work) {
  const std::size_t agents = team_.hosted.size();
  if (shared_) shared_->sync();
  if (stores_gaps_) {
    team_.for_each_tile(dim_, [&](const Tile& tile) {
      const auto gaps = gaps_.take();
      gaps->resize(channels_.size() * kTileSize);
      if (!streams())
        for (auto& channel : channels_) prefetch(tile.of(channel.gap.row(tile.agent)));
      work(tile, [&](std::size_t channel) { return stored_gap(channel, tile, *gaps); });
    });
    return;
  }
  const std::size_t stretch = !copied_.empty() ? kCopyStretch : shared_ ? kTileSize : kTileSize / 2;
  if (proving_) measured_.resize(place_of(stretches(), 0, 0));
  team_.pool.parallel_for((dim_ + stretch - 1) / stretch, [&](std::size_t piece) {
    const std::size_t first = piece * stretch, size = std::min(stretch, dim_ - first);
    const auto gaps = gaps_.take();
    sum_gaps(first, size, *gaps);
    for (std::size_t at = 0; at < size; at += kTileSize)
      for (std::size_t i = 0; i < agents; ++i) {
        const Tile tile{team_.hosted[i], first + at, std::min(kTileSize, size - at)};
        work(tile, [&](std::size_t channel) {
          const std::size_t row = channel * agents + i;
          return std::span<const Real>(*gaps).subspan(row * whole_lines<Real>(size) + at,
                                                      tile.size);
        });
      }
  });
  caught_up();
  proving_ = false;
}

}  // namespace porter
