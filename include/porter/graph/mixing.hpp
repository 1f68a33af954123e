// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "porter/graph/graph.hpp"

namespace porter {

/// One non-zero of a row of W.
struct MixingWeight {
  std::uint32_t node;
  double weight;
};

/// A mixing matrix W (Definition 1 of the paper): W 1 = 1, W^T 1 = 1, zero where the graph has no
/// edge.
struct Mixing {
  std::size_t nodes = 0;
  std::vector<double> weights;  ///< n x n, row-major
  double alpha = 0;             ///< the mixing rate |W - 11'/n|, largest singular value
  /// For fdla: no W on this graph has a smaller alpha than this (certified by a dual point).
  std::optional<double> alpha_lower_bound;
  int iterations = 0;  ///< of the solver; 0 for closed forms
  std::string method;  ///< what was done, e.g. "fdla", "fdla (closed form)", "best-constant"
  std::string note;    ///< what the user must know, e.g. why fdla fell back; empty if nothing

  double operator()(std::size_t i, std::size_t j) const { return weights[i * nodes + j]; }
};

/// Builds from "fdla", "best-constant", "metropolis", "max-degree", "lazy", "average" or
/// "file:W.npy". A matrix from a file is checked: square and of the right size, finite, row sums,
/// column sums, sparsity against the graph, alpha < 1, each with its own Error{usage}.
Mixing make_mixing(std::string_view spec, const Graph& graph);

/// |W - 11'/n|: the largest singular value.
double mixing_rate(std::size_t nodes, std::span<const double> weights);

struct MixingInfo {
  std::string name, example, help;
};
std::vector<MixingInfo> mixing_table();

}  // namespace porter
