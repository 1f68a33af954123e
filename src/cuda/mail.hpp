// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "block.hpp"
#include "compress/entries.hpp"

namespace porter::cuda {

inline constexpr std::uint32_t kNoPosition = ~0U;

/// The vectors of a gossip step. Number channels * agent + channel has its values at positions that
/// ascend, or, where there are none, all d in order.
struct Mail {
  const std::uint32_t* positions;  ///< null: all entries travel
  const std::uint32_t* starts;     ///< where those of each tile start, then how many there are
  float* values;
  std::uint32_t room, tiles, channels;  ///< room: places of each vector
  bool same_positions;                  ///< those of number 0 are everybody's

  PORTER_DEVICE std::size_t number(std::size_t agent, std::uint32_t channel) const {
    return channels * agent + channel;
  }
  PORTER_DEVICE float* values_of(std::size_t number) const { return values + number * room; }
  PORTER_DEVICE const std::uint32_t* positions_of(std::size_t number) const {
    return positions + (same_positions ? 0 : number * room);
  }
  PORTER_DEVICE const std::uint32_t* starts_of(std::size_t number) const {
    return starts + (same_positions ? 0 : number * (tiles + 1));
  }
  PORTER_DEVICE std::uint32_t count_of(std::size_t number) const {
    return positions ? starts_of(number)[tiles] : room;
  }
};

/// What is known of each vector that was sent. The flag, in memory of the host, says that one must
/// not leave: it has an entry that is not finite (`bad`), one that its compressor has no code for
/// (`misfit`, else 0), or is longer than its bound.
struct MailReport {
  double *norms, *misfits;
  std::uint32_t* bad;
  std::uint64_t* bytes;  ///< since they were asked for
  std::uint32_t* flag;
  double bounds[2];

  PORTER_DEVICE void start(const Block& block, std::size_t number) const {
    block.once([&] {
      bad[number] = kNoPosition;
      misfits[number] = 0;
    });
  }
  PORTER_DEVICE void look_at(std::size_t number, std::uint32_t position, float value) const {
    if (magnitude_bits(value) >= kInfinityBits) atomic_min(&bad[number], position);
  }
  /// Whether all entries are finite, after a barrier.
  PORTER_DEVICE bool finite(const Block& block, std::size_t number) const {
    const bool good = bad[number] == kNoPosition;
    block.once([&] {
      if (!good) *flag = 1;
    });
    return good;
  }
  /// Whether `value` is one that compressors have a code for, of all threads the same.
  PORTER_DEVICE bool fits(const Block& block, std::size_t number, double value,
                          double most = double{std::numeric_limits<float>::max()}) const {
    if (value <= most) return true;
    block.once([&] {
      misfits[number] = value;
      *flag = 1;
    });
    return false;
  }
  /// As check_sent has it.
  PORTER_DEVICE void finish(const Block& block, double* memory, std::size_t number,
                            std::uint32_t channel, const float* values, std::uint32_t count,
                            std::uint32_t payload) const {
    const double square = ordered_sum(block, memory, kSumLanes, count, [&](std::uint32_t i) {
      return double{values[i]} * double{values[i]};
    });
    block.once([&] {
      norms[number] = std::sqrt(square);
      bytes[number] += payload;
      if (!(norms[number] <= bounds[channel])) *flag = 1;
    });
  }
};

/// What vectors are made of: S - Q, rounded to float once. What is sent moves Q.
template <class Real>
struct Difference {
  std::uint32_t stride;
  const Real* S[2];
  Real* Q[2];

  PORTER_DEVICE float value(std::uint32_t channel, std::size_t agent, std::uint32_t j) const {
    const std::size_t at = agent * stride + j;
    return static_cast<float>(S[channel][at] - Q[channel][at]);
  }
  PORTER_DEVICE void sent(std::uint32_t channel, std::size_t agent, std::uint32_t j,
                          float value) const {
    Q[channel][agent * stride + j] += Real{value};
  }
};

}  // namespace porter::cuda
