// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

namespace porter {

/// Replaces `out` by k different numbers of {0, ..., n - 1} in ascending order, every subset
/// equally likely. The draw is Floyd's (Bentley, Floyd: A Sample of Brilliance; CACM 1987): for j =
/// n - k,
/// ..., n - 1 let t = stream.below(j + 1); take t unless it is taken already, else j. So k draws
/// are enough, and anyone who holds the stream gets the same subset. Any stream with below(n) will
/// do.
template <class Stream>
void choose(std::size_t k, std::size_t n, Stream& stream, std::vector<std::uint32_t>& out) {
  assert(k <= n);
  constexpr std::size_t kFew = 32;  // up to here a linear search beats a bitmap
  out.clear();
  if (k <= kFew) {
    for (std::size_t j = n - k; j < n; ++j) {
      const auto t = static_cast<std::uint32_t>(stream.below(j + 1));
      const bool taken = std::find(out.begin(), out.end(), t) != out.end();
      out.push_back(taken ? static_cast<std::uint32_t>(j) : t);
    }
    std::sort(out.begin(), out.end());
    return;
  }
  // Reading a bitmap out sorts it: k draws and n / 64 words.
  std::vector<std::uint64_t> bitmap(n / 64 + 1, 0);
  const auto bit = [](std::size_t i) { return std::uint64_t{1} << (i % 64); };
  for (std::size_t j = n - k; j < n; ++j) {
    const auto t = static_cast<std::size_t>(stream.below(j + 1));
    const auto taken = (bitmap[t / 64] & bit(t)) != 0 ? j : t;
    bitmap[taken / 64] |= bit(taken);
  }
  out.reserve(k);
  for (std::size_t word = 0; word < bitmap.size(); ++word)
    for (auto rest = bitmap[word]; rest != 0; rest &= rest - 1)
      out.push_back(static_cast<std::uint32_t>(word * 64 + std::countr_zero(rest)));
}

}  // namespace porter
