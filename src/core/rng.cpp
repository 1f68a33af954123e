// SPDX-License-Identifier: Apache-2.0
#include "porter/core/rng.hpp"

#include <cmath>

#include "core/exact_math.hpp"
#include "core/philox.hpp"
#include "core/sampling.hpp"

namespace porter {
namespace {

double to_unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

}  // namespace

std::array<std::uint32_t, 4> philox_block(std::array<std::uint32_t, 4> counter,
                                          std::array<std::uint32_t, 2> key) {
  return philox_words_of(counter, key);
}

RngStream::RngStream(std::uint64_t seed, Draw use, std::uint32_t agent, std::uint32_t round)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      counter_{0, round, agent, static_cast<std::uint32_t>(use)} {}

void RngStream::refill() {
  block_ = philox_block(counter_, key_);
  ++counter_[0];
  used_ = 0;
}

std::uint32_t RngStream::next_u32() {
  if (used_ == 4) refill();
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t RngStream::next_u64() {
  const std::uint32_t low = next_u32();
  return join_words(low, next_u32());
}

void RngStream::fill_words(std::span<std::uint32_t> out) {
  std::size_t i = 0;
  while (i < out.size() && used_ < 4) out[i++] = next_u32();
  constexpr std::size_t kWorthVectors = 64;  // words
  if (const auto blocks = (out.size() - i) / 4; 4 * blocks >= kWorthVectors) {
    philox_words(join_words(key_[0], key_[1]), Draw{counter_[3]}, counter_[2], counter_[1],
                 counter_[0], out.subspan(i, 4 * blocks));
    counter_[0] += static_cast<std::uint32_t>(blocks);
    i += 4 * blocks;
  }
  while (i < out.size()) out[i++] = next_u32();
}

double RngStream::uniform() { return to_unit(next_u64()); }

std::uint64_t RngStream::below(std::uint64_t bound) {
  return word_below(bound, [this] { return next_u64(); });
}

// Box and Muller on one block: radius from 64 bits, angle from 53. The radius keeps all leading
// zeros of its word as exponent, and where fewer than 12 significant bits are left (probability
// 2^-52) 64 more are appended, so the tails follow the normal law to 13 standard deviations.
std::array<double, 2> RngStream::normal_pair() {
  const auto index = counter_[0];
  refill();
  used_ = 4;
  const std::uint64_t radius_word = join_words(block_[0], block_[1]);
  double u = (static_cast<double>(radius_word) + 0.5) * 0x1p-64;
  if (radius_word < (1U << 12)) {
    const auto more =
        philox_block({index | kRefinementBlock, counter_[1], counter_[2], counter_[3]}, key_);
    u = (static_cast<double>(radius_word) +
         (static_cast<double>(join_words(more[0], more[1])) + 0.5) * 0x1p-64) *
        0x1p-64;
  }
  const double radius = std::sqrt(-2 * exact_log(u));
  const auto [sin, cos] = sincos_turn(to_unit(join_words(block_[2], block_[3])));
  return {radius * cos, radius * sin};
}

double RngStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const auto [first, second] = normal_pair();
  spare_normal_ = second;
  has_spare_ = true;
  return first;
}

void RngStream::fill_normal(std::span<double> out) {
  has_spare_ = false;
  std::size_t i = 0;
  for (; i + 1 < out.size(); i += 2) {
    const auto [first, second] = normal_pair();
    out[i] = first;
    out[i + 1] = second;
  }
  if (i < out.size()) out[i] = normal_pair()[0];
}

}  // namespace porter
