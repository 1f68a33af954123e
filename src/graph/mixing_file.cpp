// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "mixing_rules.hpp"
#include "porter/core/error.hpp"
#include "porter/core/vector_math.hpp"
#include "porter/io/npy.hpp"

namespace porter {
namespace {

// Sums may miss 1 by this much: what a solver in double precision leaves. Every round of gossip
// moves the average by at most as much, relatively; single precision (1e-7) would be seen.
constexpr double kSumTolerance = 1e-9;
// Below this an entry where the graph has no edge counts as zero, and is set to zero.
constexpr double kZeroTolerance = 1e-12;

void check_shape(const NpyArray& array, std::size_t n, const std::string& name) {
  std::string found;
  for (const auto extent : array.shape)
    found += (found.empty() ? "" : " x ") + std::to_string(extent);
  require(array.shape == std::vector<std::size_t>{n, n}, ErrorKind::usage, name,
          ": expected a mixing matrix of ", n, " x ", n, " (one row per agent), found ",
          found.empty() ? "a single number" : found);
}

void check_finite(const Mixing& w, const std::string& name) {
  for (std::size_t i = 0; i < w.nodes; ++i)
    for (std::size_t j = 0; j < w.nodes; ++j)
      require(std::isfinite(w(i, j)), ErrorKind::usage, name, ": entry (", i, ", ", j, ") is ",
              w(i, j), ", expected a finite number");
}

template <class Entry>
void check_sums(std::size_t n, Entry entry, const char* what, const std::string& name) {
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += entry(i, j);
    require(std::abs(sum - 1) <= kSumTolerance, ErrorKind::usage, name, ": ", what, " ", i,
            " sums to 1 ", sum < 1 ? "- " : "+ ", std::abs(sum - 1), ", expected 1 within ",
            kSumTolerance);
  }
}

void check_sparsity(Mixing& w, const Graph& graph, const std::string& name) {
  std::vector<bool> allowed(w.nodes);
  for (std::size_t i = 0; i < w.nodes; ++i) {
    allowed.assign(w.nodes, false);
    allowed[i] = true;
    for (const auto j : graph.neighbours(i)) allowed[j] = true;
    for (std::size_t j = 0; j < w.nodes; ++j) {
      if (allowed[j]) continue;
      require(std::abs(w(i, j)) <= kZeroTolerance, ErrorKind::usage, name, ": entry (", i, ", ", j,
              ") is ", w(i, j), ", but the graph has no edge between ", i, " and ", j);
      w.weights[i * w.nodes + j] = 0;
    }
  }
}

}  // namespace

Mixing mix_from_file(const Graph& graph, const Spec& spec) {
  const std::string name(*spec.argument);
  auto array = load_npy(name);
  check_shape(array, graph.nodes(), name);
  Mixing w{.nodes = graph.nodes(),
           .weights = std::move(array.values),
           .alpha_lower_bound = {},
           .method = "file",
           .note = {}};
  check_finite(w, name);
  check_sums(
      w.nodes, [&](auto i, auto j) { return w(i, j); }, "row", name);
  check_sums(
      w.nodes, [&](auto i, auto j) { return w(j, i); }, "column", name);
  check_sparsity(w, graph, name);
  w.alpha = mixing_rate(w.nodes, w.weights);
  // The margin is rounding: a matrix such as I must not pass as 1 - 1e-16.
  require(w.alpha < 1 - 1e-12, ErrorKind::usage, name, ": the mixing rate |W - 11'/n| is ", w.alpha,
          ", expected below 1 (otherwise agents never agree)");
  return w;
}

}  // namespace porter
