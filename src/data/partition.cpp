// SPDX-License-Identifier: Apache-2.0
#include "porter/data/load.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/text.hpp"
#include "dirichlet.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

constexpr std::pair<std::string_view, Split::Kind> kKinds[] = {
    {"shuffled", Split::Kind::shuffled},
    {"contiguous", Split::Kind::contiguous},
    {"by-label", Split::Kind::by_label},
    {"dirichlet", Split::Kind::dirichlet}};

}  // namespace

Split parse_split(std::string_view text) {
  const auto spec = split_spec(text);
  for (const auto& [name, kind] : kKinds) {
    if (spec.name != name) continue;
    if (kind != Split::Kind::dirichlet && !spec.argument) return {kind};
    // Beyond these bounds the law is a point mass in doubles, at a corner or at the middle.
    const auto alpha = spec.number<double>();
    if (kind != Split::Kind::dirichlet) break;
    require(alpha && *alpha >= 1e-6 && *alpha <= 1e6, ErrorKind::usage,
            "expected dirichlet:A with A from 1e-6 to 1e6, found \"", text, "\"");
    return {kind, *alpha};
  }
  fail(ErrorKind::usage, "expected shuffled, contiguous, by-label or dirichlet:A, found \"", text,
       "\"");
}

std::string to_string(const Split& split) {
  if (split.kind == Split::Kind::dirichlet) return "dirichlet:" + shortest(split.alpha);
  return std::string(
      std::ranges::find(kKinds, split.kind, [](const auto& row) { return row.second; })->first);
}

void shuffle_rows(std::span<std::uint32_t> rows, RngStream& rng) {
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[rng.below(i)]);
}

std::vector<std::uint32_t> partition_rows(const Dataset& data, std::size_t agents,
                                          const Split& split, std::uint64_t seed) {
  require(agents > 0, ErrorKind::usage, "network.agents: expected at least 1, found 0");
  require(agents <= data.rows(), ErrorKind::usage, "network.agents: expected at most ", data.rows(),
          ", as many as there are training rows, found ", agents);
  require(data.rows() <= std::numeric_limits<std::uint32_t>::max(), ErrorKind::usage,
          "expected fewer than 2^32 training rows, found ", data.rows());

  std::vector<std::uint32_t> rows(data.rows());
  std::iota(rows.begin(), rows.end(), 0U);
  if (split.kind == Split::Kind::shuffled) {
    RngStream rng(seed, Draw::split, 0, 0);
    shuffle_rows(rows, rng);
  } else if (split.kind == Split::Kind::by_label) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return data.labels[a] < data.labels[b];
    });
  } else if (split.kind == Split::Kind::dirichlet) {
    rows = dirichlet_rows(data, agents, split.alpha, seed);
  }
  rows.resize(data.rows() / agents * agents);
  return rows;
}

}  // namespace porter
