// SPDX-License-Identifier: Apache-2.0
#include "porter/core/sampling.hpp"

#include <algorithm>
#include <cassert>
#include <unordered_set>

namespace porter {
namespace {

constexpr std::size_t kSmall = 32;  // below this a linear search beats any set

// Floyd's draw; `taken(t)` marks t and says whether it was marked before.
template <class Taken>
void floyd(std::size_t k, std::size_t n, RngStream& rng, std::vector<std::uint32_t>& out,
           Taken taken) {
  for (std::size_t j = n - k; j < n; ++j) {
    auto t = static_cast<std::uint32_t>(rng.below(j + 1));
    if (taken(t)) {
      t = static_cast<std::uint32_t>(j);
      taken(t);
    }
    out.push_back(t);
  }
}

}  // namespace

void choose(std::size_t k, std::size_t n, RngStream& rng, std::vector<std::uint32_t>& out) {
  assert(k <= n);
  out.clear();
  if (k <= kSmall) {
    floyd(k, n, rng, out,
          [&](std::uint32_t t) { return std::find(out.begin(), out.end(), t) != out.end(); });
    std::sort(out.begin(), out.end());
  } else if (n / k < 64) {  // a bit per number is small beside the draws, and sorts for free
    std::vector<bool> marked(n, false);
    floyd(k, n, rng, out, [&](std::uint32_t t) {
      const bool before = marked[t];
      marked[t] = true;
      return before;
    });
    out.clear();
    for (std::size_t i = 0; i < n; ++i)
      if (marked[i]) out.push_back(static_cast<std::uint32_t>(i));
  } else {
    std::unordered_set<std::uint32_t> marked;
    floyd(k, n, rng, out, [&](std::uint32_t t) { return !marked.insert(t).second; });
    std::sort(out.begin(), out.end());
  }
}

}  // namespace porter
