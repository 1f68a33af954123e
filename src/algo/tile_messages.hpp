// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
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
    const auto* start = &starts_[sender * (pieces_ + 1) + tile * channels_ + channel];
    const std::size_t at = sender * entries_ + start[0];
    return {start[1] - start[0], values_.data() + at, positions_.data() + at};
  }
  /// Where the sender's entries for a tile begin and end, all channels together.
  Piece whole(std::size_t sender, std::size_t tile) const {
    const auto* start = &starts_[sender * (pieces_ + 1) + tile * channels_];
    const std::size_t at = sender * entries_ + start[0];
    return {start[channels_] - start[0], values_.data() + at, positions_.data() + at};
  }

  /// A message is written from its first tile to its last, channel by channel.
  class Writer {
   public:
    Writer(TileMessages& messages, std::size_t sender)
        : values_(messages.values_.data() + sender * messages.entries_),
          positions_(messages.positions_.data() + sender * messages.entries_),
          start_(&messages.starts_[sender * (messages.pieces_ + 1)]) {
      *start_ = 0;
    }
    float* values() const { return values_ + count_; }
    std::uint16_t* positions() const { return positions_ + count_; }
    /// So many entries are the next piece.
    void end_piece(std::size_t size) {
      count_ += size;
      *++start_ = static_cast<std::uint32_t>(count_);
    }
    std::size_t count() const { return count_; }

   private:
    float* values_;
    std::uint16_t* positions_;
    std::uint32_t* start_;
    std::size_t count_ = 0;
  };

  std::size_t tiles() const { return pieces_ / channels_; }
  std::size_t entries() const { return entries_; }

 private:
  static_assert(kTileSize <= std::size_t{1} << 16);

  std::size_t channels_ = 1, entries_ = 0, pieces_ = 0;  // of an agent
  std::vector<float, PageAllocator<float>> values_;
  std::vector<std::uint16_t, PageAllocator<std::uint16_t>> positions_;
  std::vector<std::uint32_t> starts_;
};

}  // namespace porter
