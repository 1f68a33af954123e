// SPDX-License-Identifier: Apache-2.0
#include "porter/data/partition.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "dirichlet.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "text.hpp"

namespace porter {
namespace {

constexpr std::string_view kDirichlet = "dirichlet:";

double dirichlet_alpha(std::string_view split) {
  const auto text = split.substr(kDirichlet.size());
  const auto alpha = parse_number(text);
  // Beyond these bounds the law is a point mass in doubles, at a corner or at the middle.
  require(alpha && *alpha >= 1e-6 && *alpha <= 1e6, ErrorKind::usage,
          "data.split: expected dirichlet:A with A from 1e-6 to 1e6, found '", split, "'");
  return *alpha;
}

}  // namespace

void shuffle_rows(std::span<std::uint32_t> rows, RngStream& rng) {
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[rng.below(i)]);
}

std::vector<std::uint32_t> partition_rows(const Dataset& data, std::size_t agents,
                                          std::string_view split, std::uint64_t seed) {
  require(agents > 0, ErrorKind::usage, "network.agents: expected at least 1, found 0");
  require(agents <= data.rows(), ErrorKind::usage, "network.agents: expected at most ", data.rows(),
          ", as many as there are training rows, found ", agents);
  require(data.rows() <= std::numeric_limits<std::uint32_t>::max(), ErrorKind::usage,
          "expected fewer than 2^32 training rows, found ", data.rows());

  std::vector<std::uint32_t> rows(data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  if (split == "shuffled") {
    RngStream rng(seed, Draw::split, 0, 0);
    shuffle_rows(rows, rng);
  } else if (split == "by-label") {
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return data.labels[a] < data.labels[b];
    });
  } else if (split.starts_with(kDirichlet)) {
    rows = dirichlet_rows(data, agents, dirichlet_alpha(split), seed);
  } else {
    require(split == "contiguous", ErrorKind::usage,
            "data.split: expected shuffled, contiguous, by-label or dirichlet:A, found '", split,
            "'");
  }
  rows.resize(data.rows() / agents * agents);
  return rows;
}

}  // namespace porter
