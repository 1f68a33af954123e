// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/replica_digest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "porter/core/vector_clones.hpp"

namespace porter {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators;
// OOPSLA 2014): a bijection of 64 bits in which every output bit depends on every input bit.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
constexpr std::size_t kPiece = 256, kAhead = 64;  // entries

std::uint64_t entry(std::uint64_t key, std::uint64_t index, double value) {
  return mix(std::bit_cast<std::uint64_t>(value) ^ mix(key + kGolden * (index + 1)));
}

// Values that lie side by side; the loop has no branch, so it runs in vectors.
PORTER_VECTOR_CLONES
std::uint64_t sum_of_entries(std::uint64_t key, const std::uint32_t* indices, const double* values,
                             std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += entry(key, indices[i], values[i]);
  return sum;
}

}  // namespace

template <class Real>
std::uint64_t ReplicaDigest::sum_at(std::span<const std::uint32_t> indices,
                                    std::span<const Real> q) const {
  std::array<double, kPiece> values;
  std::uint64_t sum = 0;
  for (std::size_t first = 0; first < indices.size(); first += kPiece) {
    const auto count = std::min(kPiece, indices.size() - first);
    for (std::size_t i = first; i < first + count; ++i) {
      assert(indices[i] < q.size());
      // The positions are scattered, and a copy of Q was last read a round ago: asked for early,
      // the lines come side by side.
      if (i + kAhead < indices.size()) __builtin_prefetch(&q[indices[i + kAhead]], 0, 2);
      values[i - first] = q[indices[i]];
    }
    sum += sum_of_entries(channel_key_, indices.data() + first, values.data(), count);
  }
  return sum;
}

template <class Real>
std::uint64_t ReplicaDigest::sum_of(std::span<const Real> q) const {
  std::uint64_t sum = 0;
  for (std::size_t j = 0; j < q.size(); ++j) sum += entry(channel_key_, j, q[j]);
  return sum;
}

ReplicaDigest::ReplicaDigest(std::span<const double> q, std::uint32_t channel)
    : channel_key_(mix(channel + kGolden)), sum_(sum_of(q)) {}
ReplicaDigest::ReplicaDigest(std::span<const float> q, std::uint32_t channel)
    : channel_key_(mix(channel + kGolden)), sum_(sum_of(q)) {}

void ReplicaDigest::remove(std::span<const std::uint32_t> indices, std::span<const double> q) {
  sum_ -= sum_at(indices, q);
}
void ReplicaDigest::remove(std::span<const std::uint32_t> indices, std::span<const float> q) {
  sum_ -= sum_at(indices, q);
}

void ReplicaDigest::add(std::span<const std::uint32_t> indices, std::span<const double> q) {
  sum_ += sum_at(indices, q);
}
void ReplicaDigest::add(std::span<const std::uint32_t> indices, std::span<const float> q) {
  sum_ += sum_at(indices, q);
}

void ReplicaDigest::recompute(std::span<const double> q) { sum_ = sum_of(q); }
void ReplicaDigest::recompute(std::span<const float> q) { sum_ = sum_of(q); }

}  // namespace porter
