// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "philox_vectors.hpp"

namespace porter {
namespace {

// The blocks in the lanes, one after the other.
template <Width width>
PORTER_INLINE inline void write_blocks(const Blocks<width> (&w)[4], std::uint32_t* out) {
  const Blocks<width> front = (w[0] & 0xFFFFFFFF) | (w[1] << 32);
  const Blocks<width> back = (w[2] & 0xFFFFFFFF) | (w[3] << 32);
  std::uint64_t blocks[2 * width];
  for (std::size_t i = 0; i < width; ++i) {
    blocks[2 * i] = front[i];
    blocks[2 * i + 1] = back[i];
  }
  std::memcpy(out, blocks, sizeof blocks);
}

}  // namespace

void philox_words(std::uint64_t seed, Draw use, std::uint32_t agent, std::uint32_t round,
                  std::uint32_t first_block, std::span<std::uint32_t> out) {
  const PhiloxStream stream(seed, use, agent, round);
  // As many whole pairs of vectors as fit.
  auto done = with_vectors([&, to = out.data(), size = out.size()]<Width width>() PORTER_INLINE {
    Blocks<width> number, a[4], b[4];
    count_lanes<width>(number);
    number += first_block;
    std::size_t at = 0;
    for (; size - at >= 8 * width; at += 8 * width) {
      philox<width>(stream, number, a, b);
      write_blocks<width>(a, to + at);
      write_blocks<width>(b, to + at + 4 * width);
      number += 2 * std::uint64_t{width};
    }
    return at;
  });
  while (done < out.size()) {
    const auto words = stream.block(first_block + static_cast<std::uint32_t>(done / 4));
    const auto part = std::min(words.size(), out.size() - done);
    std::copy_n(words.begin(), part, out.begin() + static_cast<std::ptrdiff_t>(done));
    done += part;
  }
}

}  // namespace porter
