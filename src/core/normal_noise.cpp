// SPDX-License-Identifier: Apache-2.0
#include "core/normal_noise.hpp"

#include <algorithm>
#include <cassert>

#include "core/normal_pair.hpp"
#include "philox_vectors.hpp"

namespace porter {
namespace {

constexpr std::size_t kPairs = kNoiseAlignment / 2;  // in a group

// Replaces what comes from small radius words.
[[gnu::noinline]] void refine_group(const PhiloxStream& stream, std::uint64_t first_pair,
                                    const std::uint32_t* radius_words, float* out) {
  for (std::size_t i = 0; i < kPairs; ++i) {
    if (radius_words[i] >= kRefineBelow) continue;
    const auto [cosine, sine] = normal_pair(stream, first_pair + i);
    out[i] = cosine;
    out[kPairs + i] = sine;
  }
}

// One group: the pairs of its blocks, two each, cosines before sines.
template <Width width>
PORTER_INLINE inline void fill_group(const PhiloxStream& stream, std::uint64_t first_pair,
                                     float* out) {
  alignas(64) std::uint32_t radius[kPairs], angle[kPairs];
  Blocks<width> number, a[4], b[4];
  count_lanes<width>(number);
  number += first_pair / 2;
  for (std::size_t i = 0; i < kPairs; i += 4 * width) {
    philox<width>(stream, number, a, b);
    store_words<width>(a[0], a[2], radius + i);
    store_words<width>(b[0], b[2], radius + i + 2 * width);
    store_words<width>(a[1], a[3], angle + i);
    store_words<width>(b[1], b[3], angle + i + 2 * width);
    number += 2 * std::uint64_t{width};
  }
  std::uint32_t smallest = kRefineBelow;
  for (std::size_t i = 0; i < kPairs; ++i) {
    const NormalPair pair = plain_pair(radius[i], angle[i]);
    out[i] = pair.cosine;
    out[kPairs + i] = pair.sine;
    smallest = std::min(smallest, radius[i]);
  }
  if (smallest < kRefineBelow) refine_group(stream, first_pair, radius, out);
}

}  // namespace

void NormalNoise::fill(std::size_t first, std::span<float> out) const {
  assert(first % kNoiseAlignment == 0 && first + out.size() <= std::size_t{1} << 33);
  const PhiloxStream stream(seed_, use_, agent_, round_);
  with_vectors([&, to = out.data(), size = out.size()]<Width width>() PORTER_INLINE {
    float last[kNoiseAlignment];
    std::size_t done = 0;
    for (; done + kNoiseAlignment <= size; done += kNoiseAlignment)
      fill_group<width>(stream, (first + done) / 2, to + done);
    if (done == size) return;
    fill_group<width>(stream, (first + done) / 2, last);
    std::copy_n(last, size - done, to + done);
  });
}

}  // namespace porter
