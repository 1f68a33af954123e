// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/device.hpp"

namespace porter {

/// Uniform on {0, ..., bound - 1}, bound > 0, from random 64-bit words: the first 2^64 mod bound
/// are rejected, so that every residue is equally likely. They are below bound, so for most words
/// the division is not needed.
template <class NextWord>
std::uint64_t word_below(std::uint64_t bound, NextWord next_word) {
  std::uint64_t word = next_word();
  if (word < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (word < threshold) word = next_word();
  }
  return word % bound;
}

/// One word's draw, uniform on {0, ..., bound - 1}; false: the word is rejected (draw_below).
PORTER_DEVICE inline bool draw_from(std::uint32_t word, std::uint32_t bound, std::uint32_t& draw) {
  const std::uint64_t product = std::uint64_t{word} * bound;
  draw = static_cast<std::uint32_t>(product >> 32);
  const auto low = static_cast<std::uint32_t>(product);
  return low >= bound || low >= (0 - bound) % bound;
}

/// Turns random words into draws: draws[0], draws[1], ... are uniform on {0, ..., j}, {0, ..., j +
/// 1}, ..., and the result says how many there are; `draws` has as many places as there are words,
/// and j + words.size() < 2^32. By multiplication and exact rejection (Lemire: Fast Random Integer
/// Generation in an Interval; ACM TOMACS 2019): a word makes the product w (j + 1), the draw is
/// floor(product / 2^32), and the word is rejected if (product mod 2^32) < (2^32 mod (j + 1)); then
/// the next word takes its place.
std::size_t draw_below(std::span<const std::uint32_t> words, std::size_t j,
                       std::span<std::uint32_t> draws);

/// Writes the positions of the bits that are set, ascending: bit i is bit i % 32 of word i / 32,
/// and the number of words is even. `out` has kPositionSlack places more than there are such bits,
/// which may be overwritten.
void read_bitmap(std::span<const std::uint32_t> bitmap, std::span<std::uint32_t> out);
inline constexpr std::size_t kPositionSlack = 8;
/// Replaces a bitmap by the positions of its bits.
void read_bitmap(std::vector<std::uint32_t>& bitmap);

/// Replaces `out` by k different numbers of {0, ..., n - 1}, n < 2^32, in ascending order, every
/// subset equally likely. The draw is Floyd's (Bentley, Floyd: A Sample of Brilliance; CACM 1987):
/// for j = n - k, ..., n - 1 draw t uniform on {0, ..., j}; take t unless it is taken already, else
/// j. So k draws are enough, and anyone who holds the stream gets the same subset. Any stream with
/// fill_words(span) will do; it gives no more words than were needed. A vector that is used again
/// is not allocated again.
template <class Stream>
void choose(std::size_t k, std::size_t n, Stream& stream, std::vector<std::uint32_t>& out);

namespace detail {

// The draws come in pieces; take(j, t) for each.
template <class Stream, class Take>
void draw_below_each(std::size_t j, std::size_t last, Stream& stream, Take take) {
  std::array<std::uint32_t, 512> words, draws;
  while (j < last) {
    const auto piece = std::span(words).first(std::min(words.size(), last - j));
    stream.fill_words(piece);
    const auto count = draw_below(piece, j, draws);
    for (const auto t : std::span(draws).first(count)) take(static_cast<std::uint32_t>(j++), t);
  }
}

}  // namespace detail

template <class Stream>
void choose(std::size_t k, std::size_t n, Stream& stream, std::vector<std::uint32_t>& out) {
  assert(k <= n && n <= std::numeric_limits<std::uint32_t>::max());
  constexpr std::size_t kFew = 32, kMany = 2048;  // few of many: a search in what is taken
  if (k <= kFew && n > kMany) {
    out.clear();
    detail::draw_below_each(n - k, n, stream, [&](std::uint32_t j, std::uint32_t t) {
      out.push_back(std::find(out.begin(), out.end(), t) != out.end() ? j : t);
    });
    std::sort(out.begin(), out.end());
    return;
  }
  // Else a bitmap, which lies behind the result; reading it out sorts it.
  out.resize(k);
  out.resize(k + kPositionSlack + 2 * (n / 64 + 1));  // the new part is zero
  const auto bitmap = std::span(out).subspan(k + kPositionSlack);
  detail::draw_below_each(n - k, n, stream, [bitmap](std::uint32_t j, std::uint32_t t) {
    auto& word = bitmap[t / 32];
    const auto bit = std::uint32_t{1} << (t % 32);
    if ((word & bit) != 0)
      bitmap[j / 32] |= std::uint32_t{1} << (j % 32);
    else
      word |= bit;
  });
  read_bitmap(bitmap, std::span(out).first(k + kPositionSlack));
  out.resize(k);
}

}  // namespace porter
