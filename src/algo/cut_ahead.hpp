// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "message_link.hpp"
#include "porter/core/thread_pool.hpp"
#include "surrogates.hpp"
#include "tile_messages.hpp"

namespace porter {

/// Gossip for a simulation of many agents with long rows, whose rounds wait for memory: while a
/// tile of an agent's states is in the cache, its part of the agent's next message is cut out of
/// it, and Q takes it. So states that nothing else needs are never stored, and all of an agent's
/// round is one way through its rows. The messages, and all bits, are those of MessageLink and
/// Surrogates.
///
/// What Q was before the message is kept: who asks for the state between two steps gets messages
/// taken back, and the next step publishes from memory.
template <class Real>
class CutAhead {
 public:
  /// Coordinates that are updated together: few enough for the first-level cache, and for memory to
  /// answer what is asked for meanwhile.
  static constexpr std::size_t kPart = 128;
  static_assert(kTileSize % kPart == 0);

  /// Whether it pays, and the messages are of the kind.
  static bool suits(const AlgorithmSetup& setup, const Team& team,
                    const Surrogates<Real>& surrogates);
  /// Team, link and surrogates outlive it.
  CutAhead(const AlgorithmSetup& setup, const Team& team, MessageLink& link,
           Surrogates<Real>& surrogates);

  /// When link and surrogates have started a step: whether its messages are here already, held
  /// against their bounds. Else every agent publishes.
  bool start();
  using States = std::span<const std::span<const Real>>;  // a row, or a tile, per channel
  void publish(std::size_t agent, States states);
  /// When all have: Error{numeric} if a message is beyond its bound.
  void published();
  /// Whether the states are cut when they are updated in this step.
  bool cuts() const { return cuts_; }
  /// update(part, gap, publish) for parts, of kPart coordinates at most, of tiles in ascending
  /// order; returns the part of the states.
  template <class Update>
  void mix(std::size_t agent, const Update& update);
  /// While a part is updated: what to ask memory for.
  Tile fetched_with(const Tile& part) const {
    const std::size_t first = std::min(part.first + kTileSize, dim_);
    return {part.agent, first, std::min(part.size, dim_ - first)};
  }
  /// All agents are through.
  void finish() { pending_ = cuts_; }

  /// Q of the last step is back, and the states that were cut are asked for in the next one.
  /// Whether there were messages to take back.
  bool take_back();

 private:
  // What is needed while an agent's message is cut.
  struct Cut {
    std::vector<std::uint32_t> positions;  // of a channel
    std::size_t done = 0, fetched = 0;     // so many of them
    std::size_t number = 0;                // of the next entry in next_
  };
  struct Scratch {
    std::vector<Cut> cuts;  // per channel
    std::vector<float> values;
  };

  void draw(Scratch& scratch, std::size_t agent, std::uint32_t step);
  void move_gaps(const Tile& tile);
  /// Asks for what the part a tile further needs.
  void fetch(const Tile& part, Scratch& scratch) const;
  void cut(const Tile& part, States states, Scratch& scratch);
  void measure(Scratch& scratch, std::size_t agent);
  void check() const;
  std::span<const float> values_of(std::size_t channel, std::size_t agent,
                                   std::vector<float>& values) const;

  const Team& team_;
  MessageLink& link_;
  Surrogates<Real>& surrogates_;
  std::size_t dim_, kept_, channels_;
  bool cuts_ = false, pending_ = false;
  TileMessages now_, next_;                       // of this step, of the next one
  std::vector<Real, PageAllocator<Real>> taken_;  // per entry of next_: what Q was
  std::vector<double> norms_;                     // of its messages: agent by agent, channels
  ScratchPool<Scratch> scratch_;
};

template <class Real>
template <class Update>
void CutAhead<Real>::mix(std::size_t agent, const Update& update) {
  const auto scratch = scratch_.take();
  if (cuts_) draw(*scratch, agent, link_.step() + 1);
  for (std::size_t first = 0; first < dim_; first += kTileSize) {
    const Tile tile{agent, first, std::min(kTileSize, dim_ - first)};
    move_gaps(tile);
    for (std::size_t at = 0; at < tile.size; at += kPart) {
      const Tile part{agent, first + at, std::min(kPart, tile.size - at)};
      fetch(part, *scratch);
      const auto gap = [&](std::size_t c) -> std::span<const Real> {
        return part.of(surrogates_.gaps(c).row(agent));
      };
      update(part, gap, [&](std::initializer_list<std::span<const Real>> states) {
        if (cuts_) cut(part, {states.begin(), states.size()}, *scratch);
      });
    }
  }
  if (cuts_) measure(*scratch, agent);
}

}  // namespace porter
