// SPDX-License-Identifier: Apache-2.0
#include "comm/replica_digest.hpp"

#include <bit>
#include <cstring>

#include "core/vectors.hpp"

namespace porter {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators;
// OOPSLA 2014): a bijection of 64 bits in which every output bit depends on every input bit.
template <class Words>
PORTER_INLINE inline void mix(Words& z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z = z ^ (z >> 31);
}

template <std::size_t lanes, class Real>
PORTER_INLINE inline std::uint64_t sum_of_entries(std::uint64_t key, const Real* q,
                                                  std::size_t size, std::size_t first) {
  using Words = Register<std::uint64_t, lanes>;
  const auto place = [=](std::size_t j) PORTER_INLINE { return key + kGolden * (first + j + 1); };
  Words sums = {}, places;
  for (std::size_t lane = 0; lane < lanes; ++lane) places[lane] = place(lane);
  std::size_t j = 0;
  for (; j + lanes <= size; j += lanes) {
    Register<Real, lanes> values;
    std::memcpy(&values, q + j, sizeof values);
    const auto wide = __builtin_convertvector(values, Register<double, lanes>);
    auto words = reinterpret_cast<Words>(wide) ^ places;
    mix(words);
    sums += words;
    places += kGolden * lanes;
  }
  std::uint64_t sum = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) sum += sums[lane];
  for (; j < size; ++j) {
    auto word = std::bit_cast<std::uint64_t>(double{q[j]}) ^ place(j);
    mix(word);
    sum += word;
  }
  return sum;
}

template <class Real>
std::uint64_t digest(std::span<const Real> q, std::uint32_t channel, std::size_t first) {
  auto key = channel + kGolden;
  mix(key);
  return with_vectors([=]<Width lanes>() PORTER_INLINE {
    return sum_of_entries<lanes>(key, q.data(), q.size(), first);
  });
}

}  // namespace

std::uint64_t replica_digest(std::span<const double> q, std::uint32_t channel, std::size_t first) {
  return digest(q, channel, first);
}

std::uint64_t replica_digest(std::span<const float> q, std::uint32_t channel, std::size_t first) {
  return digest(q, channel, first);
}

}  // namespace porter
