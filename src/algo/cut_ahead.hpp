// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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
  /// update(tile, gap) for the agent's tiles in ascending order; returns the tile of the states.
  template <class Update>
  void mix(std::size_t agent, const Update& update);
  /// All agents are through.
  void finish() { pending_ = cuts_; }

  /// Q of the last step is back, and the states that were cut are asked for in the next one.
  /// Whether there were messages to take back.
  bool take_back();

 private:
  // What is needed while an agent's message is cut.
  struct Scratch {
    std::vector<std::vector<std::uint32_t>> positions;  // per channel
    std::vector<std::size_t> cut;                       // so many of them
    std::vector<float> values;
    std::vector<Real, PageAllocator<Real>> gaps;  // tile of each channel
  };
  /// The message of an agent, tile after tile.
  class Cutter;

  void draw(Scratch& scratch, std::size_t agent, std::uint32_t step) const;
  void fetch(const Tile& tile, Scratch& scratch) const;
  std::span<const Real> gap(std::size_t channel, const Tile& tile, Scratch& scratch);
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
class CutAhead<Real>::Cutter {
 public:
  Cutter(CutAhead& all, std::size_t agent, Scratch& scratch)
      : all_(all), agent_(agent), scratch_(scratch), writer_(all.next_, agent) {}
  /// The next tile, and the states there.
  void cut(const Tile& tile, States states) {
    for (std::size_t c = 0; c < all_.channels_; ++c)
      cut(tile, states[c].data(), tile.of(all_.surrogates_.rows(c).row(agent_)).data(),
          scratch_.positions[c], scratch_.cut[c]);
  }

 private:
  void cut(const Tile& tile, const Real* __restrict state, Real* __restrict q,
           std::span<const std::uint32_t> positions, std::size_t& done) {
    auto* const values = writer_.values();
    auto* const at = writer_.positions();
    Real* const taken = all_.taken_.data() + agent_ * all_.next_.entries() + writer_.count();
    const std::size_t begin = done, end = tile.first + tile.size;
    for (; done < positions.size() && positions[done] < end; ++done) {
      const std::size_t i = done - begin, j = positions[done] - tile.first;
      const Real before = q[j];
      const auto value = static_cast<float>(state[j] - before);
      values[i] = value;
      at[i] = static_cast<std::uint16_t>(j);
      taken[i] = before;
      q[j] = before + Real{value};
    }
    writer_.end_piece(done - begin);
  }

  CutAhead& all_;
  std::size_t agent_;
  Scratch& scratch_;
  TileMessages::Writer writer_;
};

template <class Real>
template <class Update>
void CutAhead<Real>::mix(std::size_t agent, const Update& update) {
  const auto scratch = scratch_.take();
  if (cuts_) draw(*scratch, agent, link_.step() + 1);
  scratch->gaps.resize(channels_ * kTileSize);
  std::optional<Cutter> cutter;
  if (cuts_) cutter.emplace(*this, agent, *scratch);
  for (std::size_t first = 0; first < dim_; first += kTileSize) {
    const Tile tile{agent, first, std::min(kTileSize, dim_ - first)};
    const auto states = update(tile, [&](std::size_t c) { return gap(c, tile, *scratch); });
    if (cutter) cutter->cut(tile, states);
  }
  if (cutter) measure(*scratch, agent);
}

}  // namespace porter
