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
    {"shuffled", Split::Kind::shuffled},
    {"contiguous", Split::Kind::contiguous},
    {"by-label", Split::Kind::by_label},
    {"dirichlet", Split::Kind::dirichlet}};

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
  if (split.kind == Split::Kind::shuffled) {
    RngStream rng(seed, Draw::split, 0, 0);
    shuffle_rows(rows, rng);
  } else if (split.kind == Split::Kind::by_label) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return data.targets(a)[0] < data.targets(b)[0];
    });
  } else if (split.kind == Split::Kind::dirichlet) {
    rows = dirichlet_rows(data, agents, split.alpha, seed);
  }
  rows.resize(data.rows() / agents * agents);
  return rows;
}

}  // namespace porter
