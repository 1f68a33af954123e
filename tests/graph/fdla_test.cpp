// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "core/eigen.hpp"
#include "expect_error.hpp"
#include "graph/fdla.hpp"
#include "graph/mixing_rules.hpp"
#include "porter/core/rng.hpp"
#include "porter/graph/mixing.hpp"
#include "sanitized.hpp"

namespace porter {
namespace {

Mixing fdla(std::string_view graph, std::size_t nodes, std::uint64_t seed = 1) {
  return make_mixing("fdla", make_graph(graph, nodes, seed));
}

void expect_certified(const Mixing& w) {
  ASSERT_TRUE(w.alpha_lower_bound.has_value());
  EXPECT_LE(*w.alpha_lower_bound, w.alpha);
  EXPECT_LE(w.alpha - *w.alpha_lower_bound, 1e-7);
  EXPECT_EQ(w.note, "");
}

TEST(Fdla, MatchesTheClosedForms) {
  for (const std::size_t n : {4, 5, 8, 20, 50}) {
    const auto path = fdla("path", n);
    EXPECT_EQ(path.method, "fdla");
    EXPECT_NEAR(path.alpha, std::cos(std::numbers::pi / double(n)), 1e-8) << "path of " << n;
  }
  for (const std::size_t n : {3, 10, 64})
    EXPECT_NEAR(fdla("star", n).alpha, double(n - 1) / double(n + 1), 1e-12) << "star of " << n;
  EXPECT_NEAR(fdla("hypercube", 64).alpha, 5.0 / 7, 1e-12);
  EXPECT_NEAR(fdla("torus:8x8", 64).alpha, 0.8635450714, 1e-10);
  EXPECT_NEAR(fdla("complete", 10).alpha, 0, 1e-12);
  EXPECT_NEAR(fdla("complete", 2).alpha, 0, 1e-12);
  EXPECT_EQ(fdla("complete", 1).alpha, 0);
}

TEST(Fdla, TakesTheClosedFormOnKnownEdgeTransitiveGraphs) {
  for (const auto& [spec, nodes] : std::vector<std::pair<std::string, std::size_t>>{
           {"ring", 7}, {"star", 6}, {"complete", 5}, {"torus:4x4", 16}, {"hypercube", 8}}) {
    SCOPED_TRACE(spec);
    const auto w = fdla(spec, nodes);
    EXPECT_EQ(w.method, "fdla (closed form)");
    EXPECT_EQ(w.iterations, 0);
    EXPECT_EQ(w.alpha_lower_bound, w.alpha);
  }
  EXPECT_EQ(fdla("torus:4x5", 20).method, "fdla");
  EXPECT_EQ(fdla("grid:4x4", 16).method, "fdla");
}

// The solver, asked directly, must find the closed form too.
TEST(Fdla, SolverAgreesWithTheClosedFormOnEdgeTransitiveGraphs) {
  for (const auto& [spec, nodes] :
       std::vector<std::pair<std::string, std::size_t>>{{"ring", 9},
                                                        {"star", 8},
                                                        {"complete", 2},
                                                        {"complete", 6},
                                                        {"torus:4x4", 16},
                                                        {"hypercube", 16}}) {
    SCOPED_TRACE(spec);
    const auto graph = make_graph(spec, nodes, 1);
    const auto constant = best_constant(graph);
    const auto solution = solve_fdla(graph, constant.weight, constant.rate);
    const auto w = mixing_from_edges(graph, solution.edge_weights, "solver");
    EXPECT_NEAR(w.alpha, constant.rate, 1e-7);
    EXPECT_LE(solution.lower_bound, constant.rate + 1e-12);
    EXPECT_NEAR(solution.lower_bound, constant.rate, 1e-7);
  }
}

TEST(Fdla, CertifiesManyRandomGraphs) {
  for (std::uint32_t i = 0; i < (kSanitized ? 10 : 100); ++i) {
    RngStream rng(1, Draw::test, 0, i);
    const std::size_t n = 4 + 2 * rng.below(12);
    const std::vector<std::string> specs = {
        "erdos-renyi:0.25", "erdos-renyi:0.6", "regular:3", "geometric:0.5",
        "barbell",          "exponential",     "grid"};
    const auto& spec = specs[rng.below(specs.size())];
    SCOPED_TRACE(spec + " n=" + std::to_string(n) + " seed=" + std::to_string(i));
    const auto graph = make_graph(spec, n, i);
    const auto w = make_mixing("fdla", graph);
    expect_certified(w);
    for (const char* other : {"best-constant", "metropolis", "max-degree", "lazy"})
      EXPECT_LE(w.alpha, make_mixing(other, graph).alpha + 1e-8) << other;
  }
}

// Independent of the dual: the rate is convex in the weights, so a point that no small step in any
// direction improves is optimal. Random directions sample that.
TEST(Fdla, NoRandomDirectionImproves) {
  for (const std::string spec : {"erdos-renyi:0.4", "grid", "barbell", "path"}) {
    const auto graph = make_graph(spec, 12, 3);
    const auto best = make_mixing("fdla", graph);
    for (std::uint32_t trial = 0; trial < 300; ++trial) {
      RngStream rng(7, Draw::test, 0, trial);
      const double size = std::pow(10.0, -1 - 4 * rng.uniform());
      std::vector<double> weights;
      for (const auto& [i, j] : graph.edges()) weights.push_back(best(i, j) + size * rng.normal());
      const auto moved = mixing_from_edges(graph, weights, "moved");
      // alpha is within 1e-7 of the optimum, so nothing may be better by more.
      ASSERT_GE(moved.alpha, best.alpha - 1e-7) << spec << " trial " << trial;
    }
  }
}

// Subgradient descent from the best constant comes close to the solver's rate and never below its
// bound.
TEST(Fdla, SubgradientDescentConvergesToTheSameRate) {
  const auto graph = make_graph("erdos-renyi:0.4", 10, 2);
  const auto best = make_mixing("fdla", graph);
  std::vector<double> w(graph.edges().size(), best_constant(graph).weight);
  double lowest = 1;
  for (int t = 1; t <= 4000; ++t) {
    const auto mixing = mixing_from_edges(graph, w, "iterate");
    lowest = std::min(lowest, mixing.alpha);
    const auto dense = mixing.weights.dense();
    Eigen::MatrixXd gap = Eigen::Map<const Eigen::MatrixXd>(dense.data(), 10, 10);
    gap.array() -= 0.1;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(gap);
    const bool positive = eigen.eigenvalues()[9] >= -eigen.eigenvalues()[0];
    const Eigen::VectorXd v = eigen.eigenvectors().col(positive ? 9 : 0);
    std::size_t e = 0;
    for (const auto& [i, j] : graph.edges()) {
      const double slope = (v[i] - v[j]) * (v[i] - v[j]);  // of the eigenvalue, negated
      w[e++] += (positive ? 1 : -1) * 0.3 / std::sqrt(t) * slope * 0.1;
    }
  }
  EXPECT_GE(lowest, *best.alpha_lower_bound);
  EXPECT_NEAR(lowest, best.alpha, 2e-3);  // subgradients converge as 1 / sqrt(t)
}

// On a path the eigenvectors v_k(i) = cos(k pi (i + 1/2) / n) make an optimal dual point:
// X_+ = cos^2(pi / 2n) v_1 v_1' and X_- = sin^2(pi / 2n) v_{n-1} v_{n-1}', for unit v.
TEST(Fdla, BoundIsSharpAtTheOptimumAndNeverTooHighElsewhere) {
  const int n = 9;
  const auto graph = make_graph("path", n, 1);
  const double best = std::cos(std::numbers::pi / n), angle = std::numbers::pi / (2 * n);
  const auto factor = [&](int k, double size) {
    Eigen::MatrixXd f = Eigen::MatrixXd::Zero(n, n);
    for (int i = 0; i < n; ++i) f(i, 0) = std::cos(k * angle * (2 * i + 1));
    return Eigen::MatrixXd(size / f.norm() * f);
  };
  const auto plus = factor(1, std::cos(angle)), minus = factor(n - 1, std::sin(angle));
  EXPECT_LE(fdla_lower_bound(graph, plus, minus), best);
  EXPECT_NEAR(fdla_lower_bound(graph, plus, minus), best, 1e-12);
  for (std::uint32_t trial = 0; trial < 1000; ++trial) {
    RngStream rng(3, Draw::test, 0, trial);
    const double size = std::pow(10.0, -16 * rng.uniform());
    auto p = plus, m = minus;
    for (auto& value : p.reshaped()) value += size * rng.normal();
    for (auto& value : m.reshaped()) value += size * rng.normal();
    ASSERT_LE(fdla_lower_bound(graph, p, m), best) << "trial " << trial << ", size " << size;
  }
}

TEST(Fdla, FallsBackOnHugeGraphsAndSaysSo) {
  const auto graph = make_graph("barbell", 160, 1);  // 6321 edges
  const auto w = make_mixing("fdla", graph);
  EXPECT_EQ(w.method, "best-constant");
  EXPECT_FALSE(w.alpha_lower_bound.has_value());
  EXPECT_NE(w.note.find("6321"), std::string::npos) << w.note;
}

}  // namespace
}  // namespace porter
