// SPDX-License-Identifier: Apache-2.0
#include "comm/replica_digest.hpp"

#include <bit>

#include "core/vectors.hpp"

namespace porter {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators;
// OOPSLA 2014): a bijection of 64 bits in which every output bit depends on every input bit.
PORTER_INLINE inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// No branch, so it runs in vectors.
template <class Real>
PORTER_INLINE inline std::uint64_t sum_of_entries(std::uint64_t key, const Real* q,
                                                  std::size_t size, std::size_t first) {
  std::uint64_t sum = 0;
  for (std::size_t j = 0; j < size; ++j)
    sum += mix(std::bit_cast<std::uint64_t>(double{q[j]}) ^ (key + kGolden * (first + j + 1)));
  return sum;
}

template <class Real>
std::uint64_t digest(std::span<const Real> q, std::uint32_t channel, std::size_t first) {
  const auto key = mix(channel + kGolden);
  return with_vectors([=]<Width>()
                          PORTER_INLINE { return sum_of_entries(key, q.data(), q.size(), first); });
}

}  // namespace

std::uint64_t replica_digest(std::span<const double> q, std::uint32_t channel, std::size_t first) {
  return digest(q, channel, first);
}

std::uint64_t replica_digest(std::span<const float> q, std::uint32_t channel, std::size_t first) {
  return digest(q, channel, first);
}

}  // namespace porter
