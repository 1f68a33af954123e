// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "porter/core/rows.hpp"

namespace porter {

/// The messages of one gossip step of all agents of a simulation, `kept` entries of each channel.
/// Where memory is what a round waits for they take half the bytes of a Message: what a receiver
/// needs of a sender for a tile lies together, channel by channel, with positions in 16 bits that
/// count from the start of the tile.
class TileMessages {
 public:
  TileMessages() = default;
  TileMessages(std::size_t agents, std::size_t channels, std::size_t dim, std::size_t kept)
      : channels_(channels),
        entries_(channels * kept),
        pieces_(channels * ((dim + kTileSize - 1) / kTileSize)),
        values_(agents * entries_),
        positions_(agents * entries_),
        starts_(agents * (pieces_ + 1)) {}

  /// What a sender says of one channel of a tile.
  struct Piece {
    std::size_t size;
    const float* values;
    const std::uint16_t* positions;
  };
  Piece piece(std::size_t sender, std::size_t tile, std::size_t channel) const {
    return pieces(sender, tile, channel, 1);
  }
  /// The pieces of all channels, one after the other.
  Piece whole(std::size_t sender, std::size_t tile) const {
    return pieces(sender, tile, 0, channels_);
  }
  /// The number of a piece's first entry among all entries.
  std::size_t first(std::size_t sender, std::size_t tile, std::size_t channel) const {
    return sender * entries_ + starts_[sender * (pieces_ + 1) + tile * channels_ + channel];
  }

  /// The sizes of a sender's pieces, from its first tile to its last, channel by channel.
  class Sizes {
   public:
    Sizes(TileMessages& messages, std::size_t sender)
        : end_(&messages.starts_[sender * (messages.pieces_ + 1)]) {
      *end_ = 0;
    }
    void add(std::size_t size) {
      const auto begin = *end_;
      *++end_ = begin + static_cast<std::uint32_t>(size);
    }

   private:
    std::uint32_t* end_;
  };
  void set(std::size_t number, std::size_t position, float value) {
    values_[number] = value;
    positions_[number] = static_cast<std::uint16_t>(position);
  }

  std::size_t tiles() const { return pieces_ / channels_; }
  std::size_t entries() const { return entries_; }

 private:
  static_assert(kTileSize <= std::size_t{1} << 16);

  Piece pieces(std::size_t sender, std::size_t tile, std::size_t channel, std::size_t count) const {
    const auto* start = &starts_[sender * (pieces_ + 1) + tile * channels_ + channel];
    const std::size_t at = sender * entries_ + start[0];
    return {start[count] - start[0], values_.data() + at, positions_.data() + at};
  }

  std::size_t channels_ = 1, entries_ = 0, pieces_ = 0;  // of an agent
  std::vector<float, PageAllocator<float>> values_;
  std::vector<std::uint16_t, PageAllocator<std::uint16_t>> positions_;
  std::vector<std::uint32_t> starts_;
};

}  // namespace porter
