// SPDX-License-Identifier: Apache-2.0
#include "largest.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>
#include <span>

#include "compress/entries.hpp"
#include "core/sampling.hpp"
#include "core/vectors.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

constexpr std::size_t kSample = 2048;
constexpr int kMagnitudeBits = 31;

// How many magnitudes reach the threshold.
std::size_t count_from(std::uint32_t threshold, std::span<const float> x) {
  return with_vectors([=]<Width>() PORTER_INLINE {
    std::uint32_t count = 0;
    for (const float value : x) count += magnitude_bits(value) >= threshold ? 1U : 0U;
    return count;
  });
}

// A threshold that k magnitudes reach, and at most those that tie with the k-th more: bit by bit,
// the largest one that k of them reach, unless exactly k reach one before.
std::uint32_t find_threshold(std::size_t k, std::span<const float> x) {
  std::uint32_t threshold = 0;
  for (int bit = kMagnitudeBits - 1; bit >= 0; --bit) {
    const auto higher = threshold | std::uint32_t{1} << bit;
    const auto count = count_from(higher, x);
    if (count >= k) threshold = higher;
    if (count == k) break;
  }
  return threshold;
}

// A threshold that k entries reach as good as always, and few more than that: from a sample of x,
// four standard deviations below where the sample says.
std::uint32_t likely_threshold(std::size_t k, std::span<const float> x) {
  std::array<float, kSample> sample;
  const std::size_t stride = x.size() / kSample;
  for (std::size_t i = 0; i < kSample; ++i) sample[i] = x[i * stride];
  const double share =
      static_cast<double>(k) * static_cast<double>(kSample) / static_cast<double>(x.size());
  const auto rank = static_cast<std::size_t>(share + 4 * std::sqrt(share) + 8);
  return rank < kSample ? find_threshold(rank, sample) : 0;
}

// Bit i of the bitmap says whether the magnitude of x[i] reaches the threshold.
void flag(std::uint32_t threshold, std::span<const float> x, std::span<std::uint32_t> bitmap) {
  with_vectors([=]<Width>() PORTER_INLINE {
    const std::size_t whole = x.size() / 32;
    for (std::size_t w = 0; w < whole; ++w) {
      std::uint32_t bits = 0;
      for (std::size_t i = 0; i < 32; ++i)
        bits |= (magnitude_bits(x[32 * w + i]) >= threshold ? 1U : 0U) << i;
      bitmap[w] = bits;
    }
    for (std::size_t i = 32 * whole; i < x.size(); ++i)
      bitmap[whole] |= (magnitude_bits(x[i]) >= threshold ? 1U : 0U) << (i - 32 * whole);
  });
}

// Replaces `positions` by those of all magnitudes that reach the threshold.
void find_from(std::uint32_t threshold, std::span<const float> x,
               std::vector<std::uint32_t>& positions) {
  positions.assign(2 * (x.size() / 64 + 1), 0);
  flag(threshold, x, positions);
  read_bitmap(positions);
}

}  // namespace

void keep_largest(std::size_t k, std::vector<float>& x, std::vector<std::uint32_t>& positions) {
  assert(1 <= k && k <= x.size());
  // Candidates first, where x is long enough for that to pay; else all. They take the front of x.
  positions.clear();
  if (x.size() >= 2 * kSample) find_from(likely_threshold(k, x), x, positions);
  if (positions.size() < k) {
    positions.resize(x.size());
    std::iota(positions.begin(), positions.end(), 0U);
  }
  for (std::size_t i = 0; i < positions.size(); ++i) x[i] = x[positions[i]];
  x.resize(positions.size());

  const auto threshold = find_threshold(k, x);
  std::size_t ties = k - count_from(threshold + 1, x);  // how many that equal it are kept
  std::size_t kept = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto m = magnitude_bits(x[i]);
    const bool tie = m == threshold && ties > 0;
    x[kept] = x[i];
    positions[kept] = positions[i];
    kept += m > threshold || tie ? 1 : 0;
    ties -= tie ? 1 : 0;
  }
  assert(kept == k);
  x.resize(k);
  positions.resize(k);
}

}  // namespace porter
