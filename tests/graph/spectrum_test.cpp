// SPDX-License-Identifier: Apache-2.0
#include "graph/spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/eigen.hpp"
#include "graph/lanczos.hpp"
#include "porter/core/rng.hpp"
#include "sanitized.hpp"

namespace porter {
namespace {

using Sizes = std::vector<std::pair<std::string, std::size_t>>;

Tridiagonal random_tridiagonal(std::size_t rows, RngStream rng) {
  Tridiagonal t;
  for (std::size_t i = 0; i < rows; ++i) t.diagonal.push_back(rng.normal());
  for (std::size_t i = 0; i + 1 < rows; ++i) t.beside.push_back(rng.normal());
  return t;
}

TEST(Tridiagonal, LargestEigenpairAgreesWithTheDenseSolver) {
  for (const std::size_t rows : {1, 2, 3, 10, 60})
    for (std::uint32_t trial = 0; trial < 20; ++trial) {
      SCOPED_TRACE(testing::Message() << rows << " rows, trial " << trial);
      const auto t = random_tridiagonal(rows, RngStream(1, Draw::test, 0, trial));
      const auto m = static_cast<Eigen::Index>(rows);
      Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(m, m);
      for (Eigen::Index i = 0; i < m; ++i) dense(i, i) = t.diagonal[std::size_t(i)];
      for (Eigen::Index i = 0; i + 1 < m; ++i)
        dense(i, i + 1) = dense(i + 1, i) = t.beside[std::size_t(i)];
      const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(dense);
      EXPECT_NEAR(largest_eigenvalue(t), eigen.eigenvalues()[m - 1], 1e-13);
      // The dense vector is right to about 1e-15 / gap; the gaps of these matrices exceed 1e-4.
      EXPECT_NEAR(last_component(t, largest_eigenvalue(t)),
                  std::abs(eigen.eigenvectors()(m - 1, m - 1)), 1e-10);
    }
}

// The dense solver is right to n units in the last place, Lanczos claims its own error.
void expect_same_rate(const MixingMatrix& w) {
  const auto dense = dense_mixing_rate(w), lanczos = lanczos_mixing_rate(w);
  EXPECT_NEAR(lanczos.alpha, dense.alpha, 1e-9);
  EXPECT_GE(lanczos.alpha, dense.alpha - 1e-13);
  EXPECT_LE(lanczos.alpha - lanczos.error, dense.alpha + 1e-13);
  EXPECT_EQ(lanczos.note, "");
}

TEST(LowestEigenvalue, IsThatOfTheFormulaOnARing) {
  for (const std::size_t n : {4U, 5U, 10U, 33U}) {
    const auto w = make_mixing("metropolis", make_graph("ring", n, 1)).weights;
    double lowest = 1;
    for (std::size_t k = 0; k < n; ++k)
      lowest =
          std::min(lowest, (1 + 2 * std::cos(2 * std::numbers::pi * double(k) / double(n))) / 3);
    EXPECT_NEAR(lowest_eigenvalue(w), lowest, 1e-14) << n;
  }
  EXPECT_EQ(lowest_eigenvalue(MixingMatrix(1, std::vector<double>{1})), 1);
}

TEST(LowestEigenvalue, LanczosAgreesWithAllEigenvalues) {
  for (const char* spec : {"ring", "erdos-renyi:0.3", "star", "grid"}) {
    const auto w = make_mixing("metropolis", make_graph(spec, 60, 1)).weights;
    EXPECT_NEAR(lanczos_lowest_eigenvalue(w), dense_lowest_eigenvalue(w), 1e-9) << spec;
  }
}

TEST(MixingRate, LanczosAgreesWithAllEigenvalues) {
  for (const auto& [spec, nodes] : Sizes{{"erdos-renyi:0.05", 200},
                                         {"erdos-renyi:0.5", 60},
                                         {"regular:4", 300},
                                         {"geometric:0.2", 200},
                                         {"barbell", 80},
                                         {"exponential", 100},
                                         {"grid:9x20", 180},
                                         {"torus:12x20", 240},
                                         {"hypercube", 128},
                                         {"ring", 151},
                                         {"path", 300},
                                         {"star", 40},
                                         {"complete", 30},
                                         {"path", 3},
                                         {"complete", 2}})
    for (const std::string rule : {"best-constant", "metropolis", "max-degree", "lazy"}) {
      if (kSanitized && nodes > 100) continue;
      SCOPED_TRACE(spec + " " + rule + " " + std::to_string(nodes));
      expect_same_rate(make_mixing(rule, make_graph(spec, nodes, 3)).weights);
    }
}

TEST(MixingRate, LanczosTakesSingularValuesOfANonSymmetricMatrix) {
  for (const std::size_t n : {3, 10, 101}) {
    SCOPED_TRACE(n);
    // Each agent keeps some and passes on the rest: circulant, so normal, with eigenvalues
    // keep + pass w + skip w^3 for the n-th roots of unity w.
    std::vector<double> w(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      w[i * n + i] += 0.4;
      w[i * n + (i + 1) % n] += 0.5;
      w[i * n + (i + 3) % n] += 0.1;
    }
    expect_same_rate(MixingMatrix(n, w));
  }
}

TEST(MixingRate, SaysSoWhenLanczosDoesNotConverge) {
  const auto w = make_mixing("metropolis", make_graph("path", 3000, 1));
  ASSERT_EQ(w.alpha_method, "closed form");
  const auto rate = lanczos_mixing_rate(w.weights, 0);
  EXPECT_LT(rate.alpha, w.alpha);
  EXPECT_NE(rate.note.find("only a lower bound"), std::string::npos) << rate.note;
}

TEST(LaplacianEnds, ClosedFormsAgreeWithTheDenseSolver) {
  for (const auto& [spec, nodes] : Sizes{{"ring", 3},
                                         {"ring", 12},
                                         {"ring", 13},
                                         {"path", 2},
                                         {"path", 9},
                                         {"star", 7},
                                         {"complete", 6},
                                         {"hypercube", 16},
                                         {"grid:3x5", 15},
                                         {"grid:2x4", 8},
                                         {"torus:3x5", 15},
                                         {"torus:4x6", 24},
                                         {"torus:2x5", 10}}) {
    SCOPED_TRACE(spec + " " + std::to_string(nodes));
    const auto graph = make_graph(spec, nodes, 1);
    const auto known = known_laplacian_ends(graph);
    const auto dense = dense_laplacian_ends(graph);
    ASSERT_TRUE(known.has_value());
    EXPECT_NEAR(known->l_2, dense.l_2, 1e-13);
    EXPECT_NEAR(known->l_n, dense.l_n, 1e-13);
  }
  EXPECT_FALSE(known_laplacian_ends(make_graph("barbell", 12, 1)).has_value());
  EXPECT_FALSE(known_laplacian_ends(make_graph("regular:3", 16, 1)).has_value());
}

// Slowly mixing graphs need thousands of steps, far more than the dense solver could check.
TEST(LaplacianEnds, LanczosAgreesWithTheClosedFormsOfLargeGraphs) {
  for (const auto& [spec, nodes] : Sizes{{"ring", 2001},
                                         {"path", 1500},
                                         {"star", 5000},
                                         {"complete", 700},
                                         {"hypercube", 4096},
                                         {"grid:40x50", 2000},
                                         {"torus:50x81", 4050}}) {
    SCOPED_TRACE(spec + " " + std::to_string(nodes));
    const auto graph = make_graph(spec, nodes, 1);
    const auto known = known_laplacian_ends(graph);
    const auto lanczos = lanczos_laplacian_ends(graph);
    ASSERT_TRUE(known.has_value());
    // 1e-10 of the norm, and 1e-6 of the gap; what converges does so far below both.
    EXPECT_NEAR(lanczos.l_2 / known->l_2, 1, 1e-7);
    EXPECT_NEAR(lanczos.l_n / known->l_n, 1, 1e-9);
    EXPECT_GE(lanczos.l_n, known->l_n * (1 - 1e-13));
  }
}

TEST(MixingRate, LargeGraphsHaveTheirClosedForms) {
  const double n = 10'000;
  const auto rate = [](const char* rule, const char* graph, std::size_t nodes) {
    const auto w = make_mixing(rule, make_graph(graph, nodes, 1));
    EXPECT_EQ(w.alpha_method, "closed form");
    EXPECT_EQ(w.note, "");
    return w.alpha;
  };
  EXPECT_NEAR(rate("fdla", "ring", 10'000),
              (1 + std::cos(2 * std::numbers::pi / n)) / (3 - std::cos(2 * std::numbers::pi / n)),
              1e-15);
  EXPECT_NEAR(rate("metropolis", "ring", 10'000),
              1 - 2 * (1 - std::cos(2 * std::numbers::pi / n)) / 3, 1e-15);
  EXPECT_NEAR(rate("best-constant", "path", 10'000), std::cos(std::numbers::pi / n), 1e-15);
  EXPECT_NEAR(rate("fdla", "star", 10'000), (n - 1) / (n + 1), 1e-14);
  EXPECT_NEAR(rate("fdla", "hypercube", 8192), 12.0 / 14, 1e-14);
}

TEST(MixingRate, LargeRandomGraphsAreFoundByLanczos) {
  const auto graph = make_graph("regular:6", 2000, 1);
  const auto metropolis = make_mixing("metropolis", graph);
  EXPECT_TRUE(metropolis.alpha_method.starts_with("Lanczos")) << metropolis.alpha_method;
  EXPECT_GT(metropolis.alpha_error, 0);
  EXPECT_LT(metropolis.alpha_error, 1e-9);
  // Alon and Boppana 1991, Friedman 2008: the second eigenvalue of the adjacency matrix of a random
  // K-regular graph is near 2 sqrt(K - 1), here W = (I + A) / 7.
  EXPECT_NEAR(metropolis.alpha, (1 + 2 * std::sqrt(5.0)) / 7, 0.02);
  // The best constant balances both ends, so it does not mix slower.
  const auto best = make_mixing("fdla", graph);
  EXPECT_LT(best.alpha, metropolis.alpha);
  EXPECT_EQ(best.method, "best-constant");
  EXPECT_NE(best.note.find("2000 and 6000"), std::string::npos) << best.note;
}

}  // namespace
}  // namespace porter
