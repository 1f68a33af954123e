// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/eigen.hpp"
#include "porter/graph/graph.hpp"

namespace porter {

/// Edge weights w with W = I - sum_e w_e (e_i - e_j)(e_i - e_j)', in the order of graph.edges().
struct FdlaResult {
  std::vector<double> edge_weights;
  double lower_bound;  ///< no W on this graph mixes faster
  int iterations;
};

/// Fastest distributed linear averaging (Xiao and Boyd 2004) by a primal-dual interior-point
/// method. `constant` is the best constant edge weight, `constant_rate` its mixing rate: the start.
/// O(m^3 + n^3) per iteration and 8 m^2 bytes for m edges and n nodes. At least 2 nodes.
FdlaResult solve_fdla(const Graph& graph, double constant, double constant_rate);

/// A rigorous lower bound on the mixing rate of every W on `graph`, from any two factors of a dual
/// point X_+ = F_+ F_+', X_- = F_- F_-'. It is sharp where the point is dual optimal.
double fdla_lower_bound(const Graph& graph, const Eigen::MatrixXd& factor_plus,
                        const Eigen::MatrixXd& factor_minus);

}  // namespace porter
