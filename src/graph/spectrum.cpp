// SPDX-License-Identifier: Apache-2.0
#include "spectrum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/eigen.hpp"
#include "core/exact_math.hpp"
#include "lanczos.hpp"
#include "porter/core/error.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

// What rounding may add to an eigenvalue of a matrix of norm 1.
constexpr double kRounding = 1e-14;
constexpr double kWorkPerNode = 8;  // of the vector operations of a step
constexpr double kFewestSteps = 100;

std::size_t affordable_steps(double most_work, std::size_t nodes, double work_of_product) {
  const double step = work_of_product + kWorkPerNode * static_cast<double>(nodes);
  return static_cast<std::size_t>(std::max(kFewestSteps, most_work / step));
}

// How far an eigenvalue of a matrix of norm 1 may be off: 1e-10, and less where it is so near to 1
// that the spectral gap needs it.
double tolerance(double value) {
  return std::clamp(1e-6 * (1 - std::abs(value)), kRounding, 1e-10);
}

bool converged(const RitzValue& end) { return end.residual <= tolerance(end.value); }

double outermost(const RitzValue& end) { return std::abs(end.value) + end.residual; }

// The end that decides |W - 11'/n| has converged, and the other one is known to be shorter.
bool rate_is_known(const SpectrumEnds& ends) {
  const bool upper = std::abs(ends.high.value) >= std::abs(ends.low.value);
  const auto& longer = upper ? ends.high : ends.low;
  const auto& shorter = upper ? ends.low : ends.high;
  return converged(longer) && (converged(shorter) || outermost(shorter) <= std::abs(longer.value));
}

void multiply(const MixingMatrix& weights, std::span<const double> x, std::span<double> y) {
  for (std::size_t i = 0; i < weights.nodes(); ++i) {
    double sum = 0;
    for (const auto& [j, weight] : weights.row(i)) sum += weight * x[j];
    y[i] = sum;
  }
}

// Laplacians whose eigenvalues have formulas. The spectrum of a product of graphs is all sums of
// eigenvalues of the factors.

double four_sin_squared(double turn) {
  const double sin = sincos_turn(turn).sin;
  return 4 * (sin * sin);
}

// 2 - 2 cos(pi k / n)
LaplacianEnds path_ends(std::size_t nodes) {
  const double turn = 1 / (4 * static_cast<double>(nodes));
  return {four_sin_squared(turn), 4 - four_sin_squared(turn)};
}

// 2 - 2 cos(2 pi k / n); two nodes are joined once.
LaplacianEnds ring_ends(std::size_t nodes) {
  if (nodes == 2) return {2, 2};
  const double turn = 1 / (2 * static_cast<double>(nodes));
  return {four_sin_squared(turn), nodes % 2 == 0 ? 4 : 4 - four_sin_squared(turn / 2)};
}

LaplacianEnds product_ends(const LaplacianEnds& a, const LaplacianEnds& b) {
  return {std::min(a.l_2, b.l_2), a.l_n + b.l_n};
}

}  // namespace

MixingRate dense_mixing_rate(const MixingMatrix& weights) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto n = static_cast<Eigen::Index>(weights.nodes());
  const auto values = weights.dense();
  Matrix gap = Eigen::Map<const Matrix>(values.data(), n, n);
  gap.array() -= 1.0 / static_cast<double>(n);
  // The largest singular value of A is the largest eigenvalue of [0 A; A' 0], and of |A| itself if
  // A = A'.
  if (gap != gap.transpose()) {
    Matrix both = Matrix::Zero(2 * n, 2 * n);
    both.topRightCorner(n, n) = gap;
    both.bottomLeftCorner(n, n) = gap.transpose();
    gap = std::move(both);
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(gap, Eigen::EigenvaluesOnly);
  return {.alpha = eigen.eigenvalues().cwiseAbs().maxCoeff(),
          .error = 0,
          .method = "eigenvalues",
          .note = {}};
}

// On W itself if it is symmetric, else on W'W, whose eigenvalues are the squares.
MixingRate lanczos_mixing_rate(const MixingMatrix& weights, double most_work) {
  const auto columns = weights.transposed();
  const bool symmetric = weights == columns;
  std::vector<double> between(weights.nodes());
  const auto apply = [&](std::span<const double> x, std::span<double> y) {
    if (symmetric) return multiply(weights, x, y);
    multiply(weights, x, between);
    multiply(columns, between, y);
  };
  const auto work = (symmetric ? 1.0 : 2.0) * static_cast<double>(weights.entries());
  const auto ends = lanczos_ends(weights.nodes(), apply,
                                 affordable_steps(most_work, weights.nodes(), work), rate_is_known);
  double lowest = std::max(std::abs(ends.low.value), std::abs(ends.high.value));
  double highest = std::max(outermost(ends.low), outermost(ends.high)) + kRounding;
  if (!symmetric) {
    lowest = std::sqrt(lowest);
    highest = std::sqrt(highest);
  }
  const auto method = concat("Lanczos, ", ends.steps, " steps");
  if (rate_is_known(ends))
    return {.alpha = highest, .error = highest - lowest, .method = method, .note = {}};
  return {.alpha = lowest,
          .error = 0,
          .method = method,
          .note = concat("alpha is only a lower bound: after ", ends.steps,
                         " steps of Lanczos its residual is still ", highest - lowest)};
}

MixingRate mixing_rate(const MixingMatrix& weights) {
  return weights.nodes() <= kDenseNodes ? dense_mixing_rate(weights) : lanczos_mixing_rate(weights);
}

double dense_lowest_eigenvalue(const MixingMatrix& weights) {
  const auto n = static_cast<Eigen::Index>(weights.nodes());
  const auto values = weights.dense();
  const Eigen::MatrixXd W = Eigen::Map<const Eigen::MatrixXd>(values.data(), n, n);
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(W, Eigen::EigenvaluesOnly)
      .eigenvalues()
      .minCoeff();
}

double lanczos_lowest_eigenvalue(const MixingMatrix& weights) {
  const auto ends = lanczos_ends(
      weights.nodes(),
      [&](std::span<const double> x, std::span<double> y) { multiply(weights, x, y); },
      affordable_steps(kLanczosWork, weights.nodes(), static_cast<double>(weights.entries())),
      [](const SpectrumEnds& found) { return converged(found.low); });
  return ends.low.value - ends.low.residual;
}

double lowest_eigenvalue(const MixingMatrix& weights) {
  return weights.nodes() <= kDenseNodes ? dense_lowest_eigenvalue(weights)
                                        : lanczos_lowest_eigenvalue(weights);
}

LaplacianEnds dense_laplacian_ends(const Graph& graph) {
  const auto n = static_cast<Eigen::Index>(graph.nodes());
  Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    laplacian(i, i) = static_cast<double>(graph.degree(static_cast<std::size_t>(i)));
  for (const auto& [i, j] : graph.edges()) laplacian(i, j) = laplacian(j, i) = -1;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(laplacian, Eigen::EigenvaluesOnly);
  return {eigen.eigenvalues()[1], eigen.eigenvalues()[n - 1]};
}

LaplacianEnds lanczos_laplacian_ends(const Graph& graph) {
  // l_n <= max (d_i + d_j) over the edges (Anderson and Morley 1985), so I - 2 L / bound has
  // norm 1.
  std::size_t bound = 0;
  for (const auto& [i, j] : graph.edges())
    bound = std::max(bound, graph.degree(i) + graph.degree(j));
  const double half = static_cast<double>(bound) / 2;
  const auto apply = [&](std::span<const double> x, std::span<double> y) {
    for (std::size_t i = 0; i < graph.nodes(); ++i) {
      double sum = 0;
      for (const auto j : graph.neighbours(i)) sum += x[i] - x[j];
      y[i] = x[i] - sum / half;
    }
  };
  const double work = 3.0 * static_cast<double>(graph.edges().size());
  const auto ends =
      lanczos_ends(graph.nodes(), apply, affordable_steps(kLanczosWork, graph.nodes(), work),
                   [](const SpectrumEnds& e) { return converged(e.low) && converged(e.high); });
  return {half * (1 - ends.high.value),
          std::min(2 * half, half * (1 - ends.low.value + ends.low.residual + kRounding))};
}

std::optional<LaplacianEnds> known_laplacian_ends(const Graph& graph) {
  const std::size_t n = graph.nodes(), m = graph.edges().size();
  const auto largest = degrees_of(graph).largest;
  const auto nodes = static_cast<double>(n);
  if (m == n * (n - 1) / 2) return LaplacianEnds{nodes, nodes};
  if (m == n - 1 && largest == n - 1) return LaplacianEnds{1, nodes};  // star
  if (largest == 2) return m == n ? ring_ends(n) : path_ends(n);
  if (std::has_single_bit(n) && graph.edges() == hypercube_edges(n))
    return LaplacianEnds{2, 2.0 * std::countr_zero(n)};
  if (const auto grid = grid_shape(graph))
    return product_ends(path_ends(grid->rows), path_ends(grid->columns));
  if (const auto torus = torus_shape(graph))
    return product_ends(ring_ends(torus->rows), ring_ends(torus->columns));
  return std::nullopt;
}

LaplacianEnds laplacian_ends(const Graph& graph) {
  if (graph.nodes() <= kDenseNodes) return dense_laplacian_ends(graph);
  const auto known = known_laplacian_ends(graph);
  return known ? *known : lanczos_laplacian_ends(graph);
}

}  // namespace porter
