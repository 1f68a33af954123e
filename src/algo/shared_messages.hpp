// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "message.hpp"
#include "porter/comm/transport.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rows.hpp"

namespace porter {

/// What the messages of agents decode to, where their processes share memory: its own agent writes
/// it, and nobody draws a mask again. Short messages, so never dense ones. Two places each, for
/// even and for odd steps, as SharedRows.
class SharedMessages {
 public:
  /// Behind `offset` bytes of each agent's part. A message keeps at most `most` coordinates.
  SharedMessages(std::shared_ptr<SharedMemory> memory, std::size_t offset, std::size_t most,
                 std::size_t dim)
      : memory_(std::move(memory)), offset_(offset), most_(most), tiles_(tiles_of(dim)) {}

  /// Of an agent's part; whole lines.
  static std::size_t bytes(std::size_t channels, std::size_t most, std::size_t dim) {
    return 2 * channels * words(most, tiles_of(dim)) * sizeof(std::uint32_t);
  }

  void put(std::size_t channel, std::size_t agent, std::uint32_t step, const Decoded& message) {
    const auto kept = message.values.size();
    require(!message.dense && kept <= most_, ErrorKind::usage, "a message keeps ", kept,
            " coordinates, where its compressor says that it keeps at most ", most_);
    require(message.indices.size() == kept && message.tile_starts.size() <= tiles_ + 1,
            ErrorKind::usage, "a message has ", message.indices.size(), " positions for ", kept,
            " values and ", message.tile_starts.size(), " tiles of at most ", tiles_ + 1);
    auto* to = place(channel, agent, step);
    to[0] = static_cast<std::uint32_t>(kept);
    to[1] = static_cast<std::uint32_t>(message.tile_starts.size());
    std::ranges::copy(message.tile_starts, to + kHead);
    std::ranges::copy(message.indices, to + indices());
    std::ranges::copy(message.values, reinterpret_cast<float*>(to + values()));
  }

  DecodedView get(std::size_t channel, std::size_t agent, std::uint32_t step) const {
    const auto* from = place(channel, agent, step);
    return {false,
            {from + indices(), from[0]},
            {reinterpret_cast<const float*>(from + values()), from[0]},
            {from + kHead, from[1]}};
  }

 private:
  // Words of 32 bits: how many values and tile starts; then the latter, the positions and the
  // values.
  static constexpr std::size_t kHead = 2;
  static std::size_t tiles_of(std::size_t dim) { return (dim + kTileSize - 1) / kTileSize; }
  static std::size_t words(std::size_t most, std::size_t tiles) {
    return whole_lines<std::uint32_t>(kHead + tiles + 1 + 2 * most);
  }
  std::size_t indices() const { return kHead + tiles_ + 1; }
  std::size_t values() const { return indices() + most_; }

  std::uint32_t* place(std::size_t channel, std::size_t agent, std::uint32_t step) const {
    auto* part = memory_->part(static_cast<std::uint32_t>(agent)).data() + offset_;
    return reinterpret_cast<std::uint32_t*>(part) + (2 * channel + step % 2) * words(most_, tiles_);
  }

  std::shared_ptr<SharedMemory> memory_;
  std::size_t offset_, most_, tiles_;
};

}  // namespace porter
