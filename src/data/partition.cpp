// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/exact_math.hpp"
#include "core/text.hpp"
#include "core/vector_math.hpp"
#include "dirichlet.hpp"
#include "porter/core/error.hpp"
#include "porter/data/load.hpp"

namespace porter {
namespace {

constexpr std::pair<std::string_view, Split::Kind> kKinds[] = {
    {"shuffled", Split::Kind::shuffled}, {"contiguous", Split::Kind::contiguous},
    {"by-label", Split::Kind::by_label}, {"dirichlet", Split::Kind::dirichlet},
    {"sizes", Split::Kind::sizes},       {"quantity", Split::Kind::quantity}};

constexpr double kExpReach = 708;  // of exact_exp

// Fisher and Yates.
void shuffle_rows(std::span<std::uint32_t> rows, RngStream& rng) {
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[rng.below(i)]);
}

// Integers near `total` * p / |p|_1 with sum `total`: floors, and the largest remainders one more.
std::vector<std::size_t> round_to_sum(std::span<const double> p, std::size_t total) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  std::vector<std::size_t> counts(p.size()), order(p.size());
  std::vector<double> remainder(p.size());
  std::size_t given = 0;
  for (std::size_t c = 0; c < p.size(); ++c) {
    const double share = static_cast<double>(total) * (p[c] / sum);
    counts[c] = std::min(static_cast<std::size_t>(share), total - given);
    remainder[c] = share - static_cast<double>(counts[c]);
    given += counts[c];
  }
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  for (std::size_t i = 0; given < total; ++i, ++given) ++counts[order[i % order.size()]];
  return counts;
}

// Equal shares with class proportions p_i ~ Dirichlet(alpha) for each agent i: in ascending order
// the agents take m = floor(rows / agents) rows each from what is left.
std::vector<std::uint32_t> dirichlet_rows(const Dataset& data, std::size_t agents, double alpha,
                                          std::uint64_t seed) {
  require(!data.classes.empty(), ErrorKind::usage,
          "data.split: dirichlet splits by class, but the labels are targets of a regression");
  std::vector<std::vector<std::uint32_t>> by_class(data.classes.size());
  for (std::uint32_t row = 0; row < data.rows(); ++row)
    by_class[static_cast<std::size_t>(data.labels[row])].push_back(row);
  RngStream rng(seed, Draw::split, 0, 0);
  std::vector<std::size_t> left;
  for (auto& rows : by_class) {
    shuffle_rows(rows, rng);
    left.push_back(rows.size());
  }

  std::vector<std::uint32_t> out;
  out.reserve(data.rows());
  for (std::size_t agent = 0; agent < agents; ++agent) {
    RngStream draw(seed, Draw::split, static_cast<std::uint32_t>(agent), 1);
    const auto p = dirichlet_variate(left.size(), alpha, draw);
    const auto counts = take_counts(p, data.rows() / agents, left);
    for (std::size_t c = 0; c < left.size(); ++c) {
      const auto end = by_class[c].begin() + static_cast<std::ptrdiff_t>(left[c]);
      out.insert(out.end(), end - static_cast<std::ptrdiff_t>(counts[c]), end);
      left[c] -= counts[c];
    }
  }
  return out;
}

std::vector<double> parse_sizes(std::string_view text) {
  std::vector<double> sizes;
  auto rest = split_spec(text).argument.value_or("");
  while (true) {
    const auto cell = rest.substr(0, rest.find(','));
    const auto size = parse_number<double>(cell);
    require(size && *size > 0 && std::isfinite(*size), ErrorKind::usage,
            "expected sizes:S,S,... with a number above 0 for each agent, found \"", text, "\"");
    sizes.push_back(*size);
    if (cell.size() == rest.size()) return sizes;
    rest.remove_prefix(cell.size() + 1);
  }
}

// How many rows each agent gets, all together.
std::vector<std::size_t> unequal_counts(const Split& split, std::size_t rows, std::size_t agents,
                                        std::uint64_t seed) {
  auto shares = split.sizes;
  RngStream rng(seed, Draw::split, 0, 1);
  if (split.kind == Split::Kind::quantity) shares = dirichlet_variate(agents, split.alpha, rng);
  require(shares.size() == agents, ErrorKind::usage, "data.split: expected ", agents,
          " sizes, as many as there are agents, found ", shares.size(), " in \"", to_string(split),
          "\"");
  auto counts = round_to_sum(shares, rows);
  const auto none = std::ranges::find(counts, std::size_t{0});
  require(none == counts.end(), ErrorKind::usage, "data.split: \"", to_string(split),
          "\" leaves agent ", none - counts.begin(), " without any of the ", rows, " rows");
  return counts;
}

// Runs of the longest length, filled up with kNoRow.
std::vector<std::uint32_t> in_equal_runs(std::span<const std::uint32_t> rows,
                                         const std::vector<std::size_t>& counts) {
  const std::size_t m = *std::ranges::max_element(counts);
  std::vector<std::uint32_t> out;
  for (const auto count : counts) {
    out.insert(out.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
    out.resize(out.size() + m - count, kNoRow);
    rows = rows.subspan(count);
  }
  return out;
}

}  // namespace

Split parse_split(std::string_view text) {
  const auto spec = split_spec(text);
  for (const auto& [name, kind] : kKinds) {
    if (spec.name != name) continue;
    if (kind == Split::Kind::sizes) return {kind, 0, parse_sizes(text)};
    const bool has_law = kind == Split::Kind::dirichlet || kind == Split::Kind::quantity;
    if (!has_law && !spec.argument) return {kind};
    // Beyond these bounds the law is a point mass in doubles, at a corner or at the middle.
    const auto alpha = spec.number<double>();
    if (!has_law) break;
    require(alpha && *alpha >= 1e-6 && *alpha <= 1e6, ErrorKind::usage, "expected ", name,
            ":A with A from 1e-6 to 1e6, found \"", text, "\"");
    return {kind, *alpha};
  }
  fail(ErrorKind::usage,
       "expected shuffled, contiguous, by-label, dirichlet:A, sizes:S,S,... or quantity:A, found "
       "\"",
       text, "\"");
}

std::string to_string(const Split& split) {
  std::string text(
      std::ranges::find(kKinds, split.kind, [](const auto& row) { return row.second; })->first);
  if (split.kind == Split::Kind::dirichlet || split.kind == Split::Kind::quantity)
    text += ':' + shortest(split.alpha);
  for (std::size_t i = 0; i < split.sizes.size(); ++i)
    text += (i == 0 ? ':' : ',') + shortest(split.sizes[i]);
  return text;
}

// Marsaglia, Tsang: A simple method for generating gamma variables, ACM TOMS 2000. For alpha < 1,
// Gamma(alpha) = Gamma(alpha + 1) U^(1/alpha), here in logarithms.
double log_gamma_variate(double alpha, RngStream& rng) {
  if (alpha < 1) {
    const double boosted = log_gamma_variate(alpha + 1, rng);
    return boosted + exact_log(1 - rng.uniform()) / alpha;
  }
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = rng.normal(), t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t;
    if (exact_log(1 - rng.uniform()) < 0.5 * x * x + d * (1 - v + exact_log(v)))
      return exact_log(d * v);
  }
}

std::vector<double> dirichlet_variate(std::size_t size, double alpha, RngStream& rng) {
  std::vector<double> p(size);
  for (double& value : p) value = log_gamma_variate(alpha, rng);
  const double largest = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& value : p) {
    const double below = value - largest;
    sum += value = below < -kExpReach ? 0 : exact_exp(below);
  }
  for (double& value : p) value /= sum;
  return p;
}

std::vector<std::size_t> take_counts(std::span<const double> p, std::size_t wanted,
                                     std::span<const std::size_t> left) {
  std::vector<std::size_t> counts(p.size(), 0);
  while (wanted > 0) {
    // The proportions among the classes that still have rows; where they are all zero, what is
    // left decides.
    std::vector<double> open(p.size(), 0.0);
    for (std::size_t c = 0; c < p.size(); ++c)
      if (counts[c] < left[c]) open[c] = p[c];
    if (std::accumulate(open.begin(), open.end(), 0.0) == 0)
      for (std::size_t c = 0; c < p.size(); ++c) open[c] = static_cast<double>(left[c] - counts[c]);
    const auto share = round_to_sum(open, wanted);
    for (std::size_t c = 0; c < p.size(); ++c) {
      const auto taken = std::min(share[c], left[c] - counts[c]);
      counts[c] += taken;
      wanted -= taken;
    }
  }
  return counts;
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
  if (split.kind == Split::Kind::shuffled || split.is_unequal()) {
    RngStream rng(seed, Draw::split, 0, 0);
    shuffle_rows(rows, rng);
  } else if (split.kind == Split::Kind::by_label) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return data.targets(a)[0] < data.targets(b)[0];
    });
  } else if (split.kind == Split::Kind::dirichlet) {
    rows = dirichlet_rows(data, agents, split.alpha, seed);
  }
  if (split.is_unequal())
    return in_equal_runs(rows, unequal_counts(split, data.rows(), agents, seed));
  rows.resize(data.rows() / agents * agents);
  return rows;
}

std::vector<std::size_t> dealt_sizes(std::size_t rows, std::size_t agents, const Split& split,
                                     std::uint64_t seed) {
  if (!split.is_unequal()) return {};
  return unequal_counts(split, rows, agents, seed);
}

Dataset dealt_rows(const Dataset& data, std::size_t agents, std::vector<std::uint32_t> rows) {
  const std::size_t m = rows.size() / agents;
  std::vector<std::uint8_t> voids(rows.size());
  for (std::size_t place = 0; place < rows.size(); ++place)
    if (rows[place] == kNoRow) {
      rows[place] = rows[place / m * m];  // each agent has a first row
      voids[place] = 1;
    }
  auto out = select_rows(data, rows);
  if (std::ranges::find(voids, 1) == voids.end()) return out;
  out.voids.resize(rows.size());
  for (std::size_t place = 0; place < rows.size(); ++place) out.voids[place] |= voids[place];
  return out;
}

}  // namespace porter
