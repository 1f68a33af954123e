// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "fdla.hpp"
#include "graph/shapes.hpp"

// Why this is a bound. Let X_+, X_- be positive semidefinite with trace T in total, P = I - 11'/n,
// a_e = e_i - e_j, and r_e = a_e' (X_+ - X_-) a_e. For any s and w with -sI <= W(w) - 11'/n <= sI,
//
//   0 <= <X_+, sI - (W - 11'/n)> + <X_-, sI + (W - 11'/n)>
//      = s T - <X_+ - X_-, P> + sum_e w_e r_e.
//
// A W whose rate s is at most 1 has spectral norm at most 1, so its entries obey |w_e| = |W_ij| <=
// 1 and
//
//   s >= (<X_+ - X_-, P> - sum_e |r_e|) / T.
//
// The dual constraints r_e = 0 need not hold exactly: what they miss is subtracted. The X are
// semidefinite beyond doubt because they are defined as F F' by the floating-point factors F, and
// every quantity is a sum of squares of entries of F. What rounding can do to these sums is
// subtracted too. A non-symmetric W on an undirected graph has a symmetric part (W + W')/2 that
// obeys the same constraints and is not slower, so the bound covers all W.
namespace porter {
namespace {

struct Sums {
  double trace;               // <X, I>
  double centred;             // <X, P>
  Eigen::VectorXd edge_form;  // a_e' X a_e
};

Sums sums_of(const Graph& graph, const Eigen::MatrixXd& factor) {
  const auto n = static_cast<double>(graph.nodes());
  // Rows become columns: an edge then reads two contiguous vectors.
  const Eigen::MatrixXd columns = factor.transpose();
  const double trace = columns.squaredNorm();
  Sums sums{trace, trace - columns.rowwise().sum().squaredNorm() / n,
            Eigen::VectorXd(static_cast<Eigen::Index>(graph.edges().size()))};
  Eigen::Index e = 0;
  for (const auto& [i, j] : graph.edges())
    sums.edge_form[e++] = (columns.col(i) - columns.col(j)).squaredNorm();
  return sums;
}

// |computed - exact| of the numerator is at most this times the trace. A sum of k products has a
// relative error of at most (k + 2) u, u = 2^-53, in whatever order it is taken: n^2 terms for the
// trace, n + n for the centring, n for each edge form and m for their sum. The edge forms add up to
// at most 2 d_max times the trace. The factor 4 covers second-order terms.
double rounding_allowance(const Graph& graph) {
  const auto n = static_cast<double>(graph.nodes()), m = static_cast<double>(graph.edges().size());
  const auto max_degree = static_cast<double>(degrees_of(graph).largest);
  const double terms = n * n + 2 * n + 2 * max_degree * (n + m) + 8;
  return 4 * terms * std::numeric_limits<double>::epsilon() / 2;
}

}  // namespace

double fdla_lower_bound(const Graph& graph, const Eigen::MatrixXd& factor_plus,
                        const Eigen::MatrixXd& factor_minus) {
  const auto plus = sums_of(graph, factor_plus), minus = sums_of(graph, factor_minus);
  const double trace = plus.trace + minus.trace;
  const double residual = (plus.edge_form - minus.edge_form).lpNorm<1>();
  const double bound =
      (plus.centred - minus.centred - residual) / trace - rounding_allowance(graph);
  return std::max(bound, 0.0);
}

}  // namespace porter
