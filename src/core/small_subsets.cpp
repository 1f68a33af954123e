// SPDX-License-Identifier: Apache-2.0
#include "core/small_subsets.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "core/sampling.hpp"
#include "philox_vectors.hpp"

namespace porter {
namespace {

// One number per agent; all are below 2^32, so that comparisons may be signed, which every
// instruction set has.
template <Width width>
using Numbers = Register<std::int64_t, width>;

// draws[i] is uniform on {0, ..., n - k + i}, from word i of the agent's stream. In `doubtful` the
// lanes are set where a word may have to be rejected (see draw_below).
template <Width width>
PORTER_INLINE inline void draw(const PhiloxStream& stream, const Blocks<width>& agents,
                               std::size_t k, std::size_t n, Numbers<width>* draws,
                               Numbers<width>& doubtful) {
  Blocks<width> words[2][4];
  for (std::size_t i = 0; i < k; ++i) {
    if (i % 8 == 0) {
      for (std::size_t h = 0; h < 2; ++h) {
        words[h][0] = Blocks<width>{} + (i / 4 + h);
        words[h][1] = Blocks<width>{} + stream.round;
        words[h][2] = agents;
        words[h][3] = Blocks<width>{} + stream.use;
      }
      philox_rounds<width>(stream, words[0], words[1]);
    }
    const std::uint64_t bound = n - k + i + 1;
    Blocks<width> product;
    multiply_words<width>(product, words[i / 4 % 2][i % 4], bound);
    draws[i] = (Numbers<width>)(product >> 32);
    doubtful |= (Numbers<width>)(product & 0xFFFFFFFF) < static_cast<std::int64_t>(bound);
  }
}

// Floyd's subset of these draws, ascending.
template <Width width>
PORTER_INLINE inline void take(std::size_t k, std::size_t n, Numbers<width>* draws) {
  for (std::size_t i = 1; i < k; ++i) {
    Numbers<width> taken = {};
    for (std::size_t j = 0; j < i; ++j) taken |= draws[j] == draws[i];
    draws[i] = (draws[i] & ~taken) | (taken & static_cast<std::int64_t>(n - k + i));
  }
  for (std::size_t i = 1; i < k; ++i)
    for (std::size_t j = i; j > 0; --j) {
      const Numbers<width> swapped = (draws[j - 1] ^ draws[j]) & (draws[j - 1] > draws[j]);
      draws[j - 1] ^= swapped;
      draws[j] ^= swapped;
    }
}

[[gnu::noinline]] void choose_alone(std::size_t k, std::size_t n, RngStream stream,
                                    std::uint32_t* out) {
  std::vector<std::uint32_t> subset;
  choose(k, n, stream, subset);
  std::ranges::copy(subset, out);
}

}  // namespace

void choose_each(std::size_t k, std::size_t n, std::uint64_t seed, Draw use,
                 std::span<const std::uint32_t> agents, std::uint32_t round,
                 std::span<std::uint32_t> out) {
  assert(k <= kSmallSubset && k <= n && out.size() == k * agents.size());
  const PhiloxStream stream(seed, use, 0, round);
  with_vectors([&]<Width width>() PORTER_INLINE {
    for (std::size_t first = 0; first < agents.size(); first += width) {
      const std::size_t count = std::min<std::size_t>(width, agents.size() - first);
      Blocks<width> ids = {};
      for (std::size_t lane = 0; lane < count; ++lane) ids[lane] = agents[first + lane];
      Numbers<width> numbers[kSmallSubset], doubtful = {};
      draw<width>(stream, ids, k, n, numbers, doubtful);
      take<width>(k, n, numbers);
      for (std::size_t lane = 0; lane < count; ++lane) {
        auto* to = out.data() + (first + lane) * k;
        for (std::size_t i = 0; i < k; ++i) to[i] = static_cast<std::uint32_t>(numbers[i][lane]);
        if (doubtful[lane] != 0)
          choose_alone(k, n, RngStream(seed, use, agents[first + lane], round), to);
      }
    }
  });
}

}  // namespace porter
