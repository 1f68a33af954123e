// SPDX-License-Identifier: Apache-2.0
#include "porter/core/sampling.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace porter {
namespace {

constexpr std::size_t kFew = 32;  // up to here a linear search beats a bitmap

void choose_few(std::size_t k, std::size_t n, RngStream& rng, std::vector<std::uint32_t>& out) {
  for (std::size_t j = n - k; j < n; ++j) {
    const auto t = static_cast<std::uint32_t>(rng.below(j + 1));
    const bool taken = std::find(out.begin(), out.end(), t) != out.end();
    out.push_back(taken ? static_cast<std::uint32_t>(j) : t);
  }
  std::sort(out.begin(), out.end());
}

// Reading a bitmap out sorts it: k draws and n / 64 words.
void choose_many(std::size_t k, std::size_t n, RngStream& rng, std::vector<std::uint32_t>& out) {
  std::vector<std::uint64_t> bitmap(n / 64 + 1, 0);
  const auto bit = [](std::size_t i) { return std::uint64_t{1} << (i % 64); };
  for (std::size_t j = n - k; j < n; ++j) {
    const auto t = static_cast<std::size_t>(rng.below(j + 1));
    const auto taken = (bitmap[t / 64] & bit(t)) != 0 ? j : t;
    bitmap[taken / 64] |= bit(taken);
  }
  out.reserve(k);
  for (std::size_t word = 0; word < bitmap.size(); ++word)
    for (auto rest = bitmap[word]; rest != 0; rest &= rest - 1)
      out.push_back(static_cast<std::uint32_t>(word * 64 + std::countr_zero(rest)));
}

}  // namespace

void choose(std::size_t k, std::size_t n, RngStream& rng, std::vector<std::uint32_t>& out) {
  assert(k <= n);
  out.clear();
  if (k <= kFew)
    choose_few(k, n, rng, out);
  else
    choose_many(k, n, rng, out);
}

}  // namespace porter
