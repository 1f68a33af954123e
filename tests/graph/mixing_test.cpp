// SPDX-License-Identifier: Apache-2.0
#include "porter/graph/mixing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/eigen.hpp"
#include "expect_error.hpp"
#include "porter/io/npy.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

using Matrix = Eigen::MatrixXd;

Matrix to_matrix(const Mixing& w) {
  Matrix matrix(w.nodes(), w.nodes());
  for (std::size_t i = 0; i < w.nodes(); ++i)
    for (std::size_t j = 0; j < w.nodes(); ++j) matrix(long(i), long(j)) = w(i, j);
  return matrix;
}

// The largest singular value by repeated squaring of B'B: shares nothing with the eigensolvers.
// 40 squarings separate values that differ by a factor 1 + 1e-11.
double rate_by_powers(const Matrix& w) {
  const auto n = static_cast<double>(w.rows());
  const Matrix b = w - Matrix::Constant(w.rows(), w.cols(), 1 / n);
  Matrix power = b.transpose() * b;
  const double scale = power.norm();
  if (scale < 1e-28) return std::sqrt(scale);
  double log_norm = 0, exponent = 1;
  for (int i = 0; i < 40; ++i) {
    const double norm = power.norm();
    log_norm += std::log(norm) * exponent;
    power = (power / norm) * (power / norm);
    exponent /= 2;
  }
  return std::exp((log_norm + std::log(power.norm()) * exponent) / 2);
}

void expect_valid(const Mixing& w, const Graph& graph) {
  const std::size_t n = graph.nodes();
  ASSERT_EQ(w.nodes(), n);
  ASSERT_EQ(w.weights.entries(), n + 2 * graph.edges().size());
  std::vector<double> rows(n, 0.0), columns(n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      EXPECT_EQ(w(i, j), w(j, i));
      rows[i] += w(i, j);
      columns[j] += w(i, j);
      const auto& near = graph.neighbours(i);
      const bool joined = std::find(near.begin(), near.end(), j) != near.end();
      EXPECT_TRUE(i == j || joined || w(i, j) == 0) << i << " " << j;
    }
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(rows[i], 1, 1e-12);
    EXPECT_NEAR(columns[i], 1, 1e-12);
  }
  EXPECT_LT(w.alpha, 1);
  // Both routes are exact to about n units in the last place; small rates lose half the digits in
  // B'B.
  const double tolerance = w.alpha < 1e-3 ? 1e-7 : 1e-10;
  EXPECT_NEAR(w.alpha, rate_by_powers(to_matrix(w)), tolerance);
}

Mixing mix(std::string_view rule, std::string_view graph, std::size_t nodes) {
  return make_mixing(rule, make_graph(graph, nodes, 1));
}

TEST(MixingMatrix, HoldsTheNonZerosAndTheDiagonal) {
  const std::vector<double> values = {0, 0.5, 0.5, 0, 1, 0, -0.5, 0, 1.5};
  const MixingMatrix w(3, values), columns = w.transposed();
  EXPECT_EQ(w.nodes(), 3U);
  EXPECT_EQ(w.entries(), 6U);
  EXPECT_EQ(w.dense(), values);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(w(i, j), values[i * 3 + j]) << i << " " << j;
      EXPECT_EQ(columns(j, i), values[i * 3 + j]) << i << " " << j;
    }
  const std::vector<MixingWeight> first_column = {{0, 0}, {2, -0.5}};
  const auto row = columns.row(0);
  EXPECT_EQ(std::vector<MixingWeight>(row.begin(), row.end()), first_column);
  EXPECT_EQ(columns.transposed(), w);
  EXPECT_EQ(MixingMatrix().nodes(), 0U);
}

TEST(Mixing, EveryRuleIsValidOnEveryTopology) {
  for (const auto& topology : graph_table())
    for (const auto& rule : mixing_table()) {
      if (topology.name == "file" || rule.name == "file" || rule.name == "average") continue;
      const bool is_cube = topology.name == "hypercube", is_regular = topology.name == "regular";
      for (const std::size_t nodes : {1, 2, 12}) {
        if (nodes == 1 && topology.name == "barbell") continue;
        if (nodes < 12 && is_regular) continue;
        const auto spec = nodes == 12                                           ? topology.example
                          : topology.name == "grid" || topology.name == "torus" ? topology.name
                                                                                : topology.example;
        SCOPED_TRACE(spec + " " + rule.name + " " + std::to_string(nodes));
        const auto graph = make_graph(spec, is_cube && nodes == 12 ? 16 : nodes, 1);
        const auto w = make_mixing(rule.example, graph);
        expect_valid(w, graph);
        EXPECT_LE(w.alpha_lower_bound.value_or(0), w.alpha);
      }
    }
}

TEST(Mixing, FormulasGiveTheWeightsTheyState) {
  const auto metropolis = mix("metropolis", "path", 4);  // degrees 1, 2, 2, 1
  EXPECT_DOUBLE_EQ(metropolis(0, 1), 1.0 / 3);
  EXPECT_DOUBLE_EQ(metropolis(0, 0), 2.0 / 3);
  EXPECT_DOUBLE_EQ(mix("lazy", "path", 4)(0, 1), 1.0 / 6);
  EXPECT_DOUBLE_EQ(mix("max-degree", "star", 5)(0, 1), 1.0 / 5);
  EXPECT_DOUBLE_EQ(mix("average", "complete", 5)(2, 4), 1.0 / 5);
  // Path of 3: l_2 = 1, l_n = 3.
  EXPECT_NEAR(mix("best-constant", "path", 3)(0, 1), 0.5, 1e-14);
}

TEST(Mixing, BestConstantIsNoSlowerThanOtherConstants) {
  const auto graph = make_graph("erdos-renyi:0.3", 20, 5);
  const auto best = make_mixing("best-constant", graph);
  const Matrix identity = Matrix::Identity(20, 20);
  for (const double factor : {0.9, 0.999, 1.001, 1.1}) {
    const Matrix other = identity + factor * (to_matrix(best) - identity);
    EXPECT_GT(rate_by_powers(other), best.alpha) << factor;
  }
  EXPECT_LE(best.alpha, make_mixing("max-degree", graph).alpha);
}

TEST(Mixing, RateOfANonSymmetricMatrixIsASingularValue) {
  // A directed circle permutes the agents: eigenvalues of modulus 1, and never mixes.
  const std::vector<double> rotation = {0, 1, 0, 0, 0, 1, 1, 0, 0};
  EXPECT_NEAR(mixing_rate(MixingMatrix(3, rotation)).alpha, 1, 1e-14);
  // Half of it: W - 11'/3 is normal with eigenvalues (1 + e^{2 pi i / 3}) / 2 of modulus 1/2.
  const std::vector<double> half = {0.5, 0.5, 0, 0, 0.5, 0.5, 0.5, 0, 0.5};
  EXPECT_NEAR(mixing_rate(MixingMatrix(3, half)).alpha, 0.5, 1e-14);
}

TEST(Mixing, ErrorsSayWhatIsWrong) {
  const auto usage = ErrorKind::usage;
  expect_error(usage, {"unknown mixing 'fast'", "fdla", "metropolis"},
               [] { mix("fast", "ring", 4); });
  expect_error(usage, {"average", "complete", "6 edges", "found 4"},
               [] { mix("average", "ring", 4); });
  expect_error(usage, {"fdla takes no argument"}, [] { mix("fdla:3", "ring", 4); });
  expect_error(usage, {"argument is missing", "file:W.npy"}, [] { mix("file:", "ring", 4); });
  expect_error(ErrorKind::io, {"no-such.npy"}, [] { mix("file:no-such.npy", "ring", 4); });
}

class MixingFile : public testing::Test {
 protected:
  MixingFile()
      : graph_(make_graph("ring", 4, 1)),
        good_(make_mixing("metropolis", graph_).weights.dense()) {}

  Mixing load(const std::vector<double>& weights, const std::vector<std::size_t>& shape = {4, 4}) {
    save_npy(path_, shape, weights);
    return make_mixing("file:" + path_.string(), graph_);
  }
  void expect_refused(const std::vector<double>& weights, std::vector<std::string> parts) {
    parts.push_back(path_.string());
    expect_error(ErrorKind::usage, parts, [&] { load(weights); });
  }

  TempDir dir_;
  std::filesystem::path path_ = dir_ / "W.npy";
  Graph graph_;
  std::vector<double> good_;
};

TEST_F(MixingFile, IsTakenAsItIs) {
  const auto w = load(good_);
  EXPECT_EQ(w.weights.dense(), good_);
  EXPECT_EQ(w.method, "file");
  EXPECT_FALSE(w.alpha_lower_bound.has_value());
  EXPECT_DOUBLE_EQ(w.alpha, make_mixing("metropolis", graph_).alpha);
}

TEST_F(MixingFile, MayBeNonSymmetricIfDoublyStochastic) {
  const std::vector<double> half_turn = {0.5, 0.5, 0,   0,   0,   0.5, 0.5, 0,
                                         0,   0,   0.5, 0.5, 0.5, 0,   0,   0.5};
  // Circulant, eigenvalues (1 + i^k) / 2: the largest but the first has modulus 1/sqrt(2).
  EXPECT_NEAR(load(half_turn).alpha, std::numbers::sqrt2 / 2, 1e-14);
}

TEST_F(MixingFile, EachDefectHasItsOwnMessage) {
  auto w = good_;
  w[1] = std::numeric_limits<double>::quiet_NaN();
  expect_refused(w, {"entry (0, 1) is nan", "finite"});
  w = good_;
  w[0] += 1e-6;
  expect_refused(w, {"row 0 sums to 1 + 1", "within 1e-09"});
  w = good_;  // rows still sum to 1, columns do not
  w[0] -= 0.1;
  w[1] += 0.1;
  expect_refused(w, {"column 0 sums to 1 - 0.1"});
  w = good_;  // sums hold, but 0 and 2 are not neighbours
  w[0] -= 0.1;
  w[2] += 0.1;
  w[8] += 0.1;
  w[10] -= 0.1;
  expect_refused(w, {"entry (0, 2) is 0.1", "no edge between 0 and 2"});
  expect_refused({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, {"mixing rate", "below 1"});
  expect_error(ErrorKind::usage, {"4 x 4", "found 2 x 8"}, [&] { load(good_, {2, 8}); });
  expect_error(ErrorKind::usage, {"4 x 4", "found 16"}, [&] { load(good_, {16}); });
}

}  // namespace
}  // namespace porter
