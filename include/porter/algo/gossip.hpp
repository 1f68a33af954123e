// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "porter/algo/algorithm.hpp"
#include "porter/algo/message.hpp"
#include "porter/algo/sweep_mask.hpp"

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
/// gap(channel, tile):  of every tile once, in any order and on any thread
///   gap <- (W - I)^T Q    kept incrementally: k non-zeros cost k * degree, not d * degree
///
/// S - Q is rounded to float once, when it is published. Q moves only by decoded payloads, at the
/// sender too, so both ends hold the same bits. Each receiver adds in ascending order of sender, so
/// results do not depend on threads. A gap in float drifts from its Q, step by step; there
/// it is built anew from Q every 64 steps, summed in double and rounded once. Which steps these are
/// depends on their number alone, so a resumed run does the same.
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
  /// The tile of (W - I)^T Q, this round's messages included.
  std::span<const Real> gap(std::size_t channel, const Tile& tile);
  /// Asks for the gaps of a tile that is next.
  void prefetch(const Tile& tile);

  Traffic& traffic() { return traffic_; }
  void append_state(std::vector<NamedRows>& state);

 private:
  struct Line {
    Draw use;
    BasicRows<Real> Q, gap;
    std::vector<Message> messages;  // per sender, as every receiver decodes it
  };

  void rebuild(const BasicRows<Real>& Q, const Tile& tile, std::span<Real> gap) const;

  const Compressor& compressor_;
  std::uint64_t seed_;
  Mask mask_;
  std::optional<SweepMask> sweep_;
  std::span<const std::uint32_t> positions_;  // of this step, where the agents sweep
  std::uint32_t step_ = 0;
  bool rebuild_ = false;                             // the gaps of this step come from Q
  std::vector<std::vector<MixingWeight>> incoming_;  // row i of (W - I)^T, ascending
  std::vector<std::size_t> degrees_;
  std::vector<Line> lines_;
  Traffic traffic_;
};
using Gossip = BasicGossip<double>;

}  // namespace porter
