// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "mixing_rules.hpp"
#include "porter/core/error.hpp"
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

void check_finite(const NpyArray& w, std::size_t n, const std::string& name) {
  for (std::size_t i = 0; i < w.values.size(); ++i)
    require(std::isfinite(w.values[i]), ErrorKind::usage, name, ": entry (", i / n, ", ", i % n,
            ") is ", w.values[i], ", expected a finite number");
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

void check_sparsity(NpyArray& w, const Graph& graph, const std::string& name) {
  const std::size_t n = graph.nodes();
  std::vector<bool> allowed(n);
  for (std::size_t i = 0; i < n; ++i) {
    allowed.assign(n, false);
    allowed[i] = true;
    for (const auto j : graph.neighbours(i)) allowed[j] = true;
    for (std::size_t j = 0; j < n; ++j) {
      if (allowed[j]) continue;
      double& entry = w.values[i * n + j];
      require(std::abs(entry) <= kZeroTolerance, ErrorKind::usage, name, ": entry (", i, ", ", j,
              ") is ", entry, ", but the graph has no edge between ", i, " and ", j);
      entry = 0;
    }
  }
}

}  // namespace

Mixing mix_from_file(const Graph& graph, const Spec& spec) {
  const std::string name(*spec.argument);
  const std::size_t n = graph.nodes();
  auto array = load_npy(name);
  check_shape(array, n, name);
  check_finite(array, n, name);
  const auto& values = array.values;
  check_sums(
      n, [&](auto i, auto j) { return values[i * n + j]; }, "row", name);
  check_sums(
      n, [&](auto i, auto j) { return values[j * n + i]; }, "column", name);
  check_sparsity(array, graph, name);
  Mixing w;
  w.weights = MixingMatrix(n, array.values);
  w.method = "file";
  set_rate(w, mixing_rate(w.weights));
  // The margin is rounding: a matrix such as I must not pass as 1 - 1e-16.
  require(w.alpha < 1 - 1e-12, ErrorKind::usage, name, ": the mixing rate |W - 11'/n| is ", w.alpha,
          ", expected below 1 (otherwise agents never agree)");
  return w;
}

}  // namespace porter
