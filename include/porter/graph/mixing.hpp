// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "porter/graph/graph.hpp"

namespace porter {

/// One entry of a row of W.
struct MixingWeight {
  std::uint32_t node;
  double weight;

  bool operator==(const MixingWeight&) const = default;
};

/// A sparse square matrix by rows, n + 2 x edges entries for a W on a graph. The diagonal is always
/// among them, zero or not. A value.
class MixingMatrix {
 public:
  MixingMatrix() = default;
  /// Row i holds its entries ascending by node, (i, i) among them.
  explicit MixingMatrix(const std::vector<std::vector<MixingWeight>>& rows);
  /// The non-zeros and the diagonal of a row-major n x n matrix.
  MixingMatrix(std::size_t nodes, std::span<const double> dense);

  std::size_t nodes() const { return starts_.size() - 1; }
  /// Ascending by node.
  std::span<const MixingWeight> row(std::size_t i) const& {
    return {entries_.data() + starts_[i], starts_[i + 1] - starts_[i]};
  }
  std::span<const MixingWeight> row(std::size_t i) const&& = delete;  ///< would outlive the matrix
  /// Zero where the row has no entry.
  double operator()(std::size_t i, std::size_t j) const;
  /// Its rows are the columns of this one.
  MixingMatrix transposed() const;
  /// n x n, row-major.
  std::vector<double> dense() const;
  std::size_t entries() const { return entries_.size(); }

  bool operator==(const MixingMatrix&) const = default;

 private:
  std::vector<std::size_t> starts_ = {0};
  std::vector<MixingWeight> entries_;
};

/// |W - 11'/n|, the largest singular value, and how it was found.
struct MixingRate {
  double alpha = 0;    ///< at least the true value, unless `note` says otherwise
  double error = 0;    ///< at most this much above the true value; 0: to rounding
  std::string method;  ///< "eigenvalues", "closed form", "Lanczos, 212 steps"
  std::string note;    ///< what the user must know if the method did not converge; else empty
};

/// All eigenvalues for up to 600 nodes, beyond them Lanczos: O(steps x entries) and O(n) memory.
MixingRate mixing_rate(const MixingMatrix& weights);

/// The least eigenvalue of a symmetric W; beyond 600 nodes the least that Lanczos cannot exclude.
double lowest_eigenvalue(const MixingMatrix& weights);

/// A mixing matrix W (Definition 1 of the paper): W 1 = 1, W^T 1 = 1, zero where the graph has no
/// edge.
struct Mixing {
  MixingMatrix weights;
  double alpha = 0;          ///< the mixing rate |W - 11'/n|, largest singular value
  double alpha_error = 0;    ///< alpha is at most this much too high; 0: to rounding
  std::string alpha_method;  ///< how alpha was found
  /// For fdla: no W on this graph has a smaller alpha than this (certified by a dual point).
  std::optional<double> alpha_lower_bound;
  int iterations = 0;  ///< of the solver; 0 for closed forms
  std::string method;  ///< what was done, e.g. "fdla", "fdla (closed form)", "best-constant"
  std::string note;    ///< what the user must know, e.g. why fdla fell back; empty if nothing

  std::size_t nodes() const { return weights.nodes(); }
  double operator()(std::size_t i, std::size_t j) const { return weights(i, j); }
};

/// Builds from "fdla", "best-constant", "metropolis", "max-degree", "lazy", "average" or
/// "file:W.npy". A matrix from a file is checked: square and of the right size, finite, row sums,
/// column sums, sparsity against the graph, alpha < 1, each with its own Error{usage}.
Mixing make_mixing(std::string_view spec, const Graph& graph);

using MixingInfo = GraphInfo;
std::vector<MixingInfo> mixing_table();

}  // namespace porter
