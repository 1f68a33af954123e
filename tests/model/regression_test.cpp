// SPDX-License-Identifier: Apache-2.0
// Models that predict numbers, one or several: every loss, dense and sparse, against plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/vector_math.hpp"
#include "every_simd_target.hpp"
#include "model/residuals.hpp"
#include "porter/core/error.hpp"
#include "slope.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

using Vector = std::vector<double>;

// phi and phi' once more, from their definition.
double plain_loss(LossKind kind, double r) {
  if (kind == LossKind::squared) return r * r / 2;
  if (kind == LossKind::cauchy) return std::log(1 + r * r / 2);
  return -1 <= r && r <= 1 ? r * r / 2 : std::fabs(r) - 0.5;
}
double plain_slope(LossKind kind, double r) {
  if (kind == LossKind::squared) return r;
  if (kind == LossKind::cauchy) return 2 * r / (2 + r * r);
  return std::min(1.0, std::max(-1.0, r));
}

TEST(Residuals, HaveTheLossesOfTheirNames) {
  for (const auto kind : all_choices<LossKind>())
    for (double r = -5; r <= 5; r += 0.0625) {
      EXPECT_NEAR(residual_loss(kind, r), plain_loss(kind, r), 1e-15) << r;
      EXPECT_NEAR(residual_slope(kind, r), plain_slope(kind, r), 1e-15) << r;
    }
  EXPECT_EQ(residual_loss(LossKind::huber, 1), 0.5);
  EXPECT_EQ(residual_loss(LossKind::huber, -3), 2.5);
  EXPECT_EQ(residual_slope(LossKind::huber, 1e300), 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto kind : all_choices<LossKind>()) {
    EXPECT_TRUE(std::isnan(residual_loss(kind, nan)));
    EXPECT_TRUE(std::isnan(residual_slope(kind, nan)));
  }
}

struct RegressionCase {
  ModelOptions options;
  std::size_t outputs;
  bool sparse;

  std::string text() const {
    return concat(options.name, ' ', choice_text(*options.loss), " lambda ", options.lambda, ", ",
                  options.hidden.size(), " layers, ", outputs, sparse ? " sparse" : " dense");
  }
};

std::vector<RegressionCase> regression_cases() {
  std::vector<RegressionCase> cases;
  for (const auto loss : all_choices<LossKind>())
    for (const std::size_t outputs : {1, 2, 5})
      for (const bool sparse : {false, true})
        for (const double lambda : {0.0, 0.1}) {
          cases.push_back(
              {{.name = "linear", .lambda = lambda, .hidden = {}, .loss = loss}, outputs, sparse});
          cases.push_back(
              {{.name = "mlp", .lambda = lambda, .hidden = {6}, .loss = loss}, outputs, sparse});
          cases.push_back({{.name = "mlp",
                            .lambda = lambda,
                            .hidden = {3, 4},
                            .activation = ActivationKind::tanh,
                            .loss = loss},
                           outputs,
                           sparse});
        }
  return cases;
}

constexpr std::size_t kFeatures = 7;

Vector dense_features(const Sample& sample) {
  Vector f(kFeatures, 0.0);
  for (std::size_t i = 0; i < sample.values.size(); ++i)
    f[sample.sparse ? sample.columns[i] : i] = double{sample.values[i]};
  return f;
}

struct Answer {
  Vector predictions, gradient;
  double loss = 0;
};

// The model in its documented order of parameters: for each layer W, outputs x inputs row by row,
// and, of an mlp, the biases behind it.
Answer plain_answer(const RegressionCase& c, const Vector& x, const Sample& sample) {
  const bool mlp = c.options.name == "mlp", is_tanh = c.options.activation == ActivationKind::tanh;
  auto widths = mlp ? c.options.hidden : std::vector<std::size_t>{};
  widths.insert(widths.begin(), kFeatures);
  widths.push_back(c.outputs);
  std::vector<Vector> values = {dense_features(sample)};
  std::vector<std::size_t> begins;
  std::size_t at = 0;
  for (std::size_t l = 1; l < widths.size(); ++l) {
    begins.push_back(at);
    Vector out(widths[l]);
    for (std::size_t o = 0; o < widths[l]; ++o) {
      out[o] = mlp ? x[at + widths[l - 1] * widths[l] + o] : 0;
      for (std::size_t i = 0; i < widths[l - 1]; ++i)
        out[o] += x[at + o * widths[l - 1] + i] * values.back()[i];
      if (l + 1 < widths.size()) out[o] = is_tanh ? std::tanh(out[o]) : 1 / (1 + std::exp(-out[o]));
    }
    at += widths[l] * (widths[l - 1] + (mlp ? 1 : 0));
    values.push_back(out);
  }

  Answer answer{.predictions = values.back(), .gradient = Vector(at, 0.0)};
  Vector delta;
  for (std::size_t o = 0; o < c.outputs; ++o) {
    const double r = answer.predictions[o] - double{sample.targets[o]};
    answer.loss += plain_loss(*c.options.loss, r);
    delta.push_back(plain_slope(*c.options.loss, r));
  }
  for (std::size_t l = widths.size() - 1; l > 0; --l) {
    Vector below(widths[l - 1], 0.0);
    for (std::size_t o = 0; o < widths[l]; ++o)
      for (std::size_t i = 0; i < widths[l - 1]; ++i) {
        const auto j = begins[l - 1] + o * widths[l - 1] + i;
        answer.gradient[j] = delta[o] * values[l - 1][i];
        below[i] += delta[o] * x[j];
      }
    if (mlp)
      for (std::size_t o = 0; o < widths[l]; ++o)
        answer.gradient[begins[l - 1] + widths[l - 1] * widths[l] + o] = delta[o];
    for (std::size_t i = 0; i < below.size(); ++i) {
      const double a = values[l - 1][i];
      below[i] *= is_tanh ? 1 - a * a : a * (1 - a);
    }
    delta = below;
  }
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double q = 1 + x[j] * x[j];
    answer.loss += c.options.lambda * (q - 1) / q;
    answer.gradient[j] += c.options.lambda * 2 * x[j] / (q * q);
  }
  return answer;
}

// Its numbers are floats.
Vector regression_point(std::size_t dim, std::uint32_t round) {
  Vector x(dim);
  RngStream(3, Draw::test, 0, round).fill_normal(x);
  for (double& value : x) value = double{static_cast<float>(value)};
  return x;
}

std::unique_ptr<const Model> regression_model(const RegressionCase& c) {
  return make_model(c.options, kFeatures, 0, c.outputs);
}

void expect_near(std::span<const double> found, std::span<const double> expected,
                 double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_LE(std::sqrt(squared_distance(found, expected)),
            tolerance * (1e-3 + std::sqrt(squared_norm(expected))));
}

TEST(Regression, AgreesWithPlainLoopsAndFiniteDifferences) {
  for (const auto& c : regression_cases()) {
    SCOPED_TRACE(c.text());
    const auto data = toy_targets(5, kFeatures, c.outputs, c.sparse);
    const auto model = regression_model(c);
    for (std::uint32_t row = 0; row < data.rows(); ++row) {
      auto x = regression_point(model->dim(), row);
      const auto expected = plain_answer(c, x, data[row]);
      Vector gradient(model->dim(), 7.0), predictions(c.outputs);
      EXPECT_NEAR(model->loss(x, data[row], gradient), expected.loss, 1e-12 * expected.loss);
      expect_near(gradient, expected.gradient, 1e-12);
      model->predict_targets(x, data[row], predictions);
      expect_near(predictions, expected.predictions, 1e-12);
      EXPECT_EQ(model->predict(x, data[row]), predictions[0]);
      for (std::size_t j = 0; j < x.size(); ++j) {
        const auto loss = [&](const auto& at) { return model->loss(at, data[row], {}); };
        // Rounding of the loss over h.
        EXPECT_NEAR(gradient[j], slope_of(loss, x, j), 2e-8 + 1e-9 * expected.loss) << j;
      }
    }
  }
}

TEST(Regression, SumsClippedGradientsOfBatches) {
  const std::function<double(double)> clip = [](double norm) {
    return norm <= 0.7 ? 1 : 0.7 / norm;
  };
  std::uint32_t round = 0;
  for (const auto& c : regression_cases()) {
    const auto data = toy_targets(300, kFeatures, c.outputs, c.sparse);
    const auto model = regression_model(c);
    Workspace workspace;
    for (const std::size_t b : {1, 2, 130, 290})
      for (const bool clipped : {false, true}) {
        SCOPED_TRACE(testing::Message() << c.text() << ", batch " << b << (clipped ? " clip" : ""));
        const auto x = regression_point(model->dim(), ++round);
        std::vector<std::uint32_t> rows(b);
        for (std::size_t i = 0; i < b; ++i) rows[i] = static_cast<std::uint32_t>((7 * i) % 290);
        const BatchRequest batch{data, 10, rows, clipped ? &clip : nullptr};
        Vector expected(model->dim(), 0.0), sum(model->dim(), 7.0);
        for (const auto row : rows) {
          const auto g = plain_answer(c, x, data[10 + row]).gradient;
          axpy(clipped ? clip(std::sqrt(squared_norm(g))) : 1.0, g, expected);
        }
        const double scale = model->gradient_sum(x, batch, sum, workspace);
        for (double& value : sum) value *= scale;
        // The norm of a sum with the regulariser is rounded up by 1e-10 of the squares.
        expect_near(sum, expected, clipped && c.options.lambda > 0 ? 1e-8 : 1e-11);

        const std::vector<float> narrow(x.begin(), x.end());
        std::vector<float> in_float(model->dim(), 7.0F);
        const bool layered = c.options.name == "mlp" || c.outputs > 1;
        const bool did = model->gradient_sum_in_float(narrow, batch, in_float, workspace);
        EXPECT_EQ(did, layered && b > 1 && c.options.lambda == 0);
        if (did) expect_near(Vector(in_float.begin(), in_float.end()), expected, 1e-5);
        if (b > 1) continue;
        OuterProducts products;
        const auto factor = model->sample_gradient(narrow, batch, products, workspace);
        EXPECT_EQ(factor.has_value(), layered && !c.sparse && c.options.lambda == 0);
        if (!factor) continue;
        products.write(0, *factor, in_float);
        expect_near(Vector(in_float.begin(), in_float.end()), expected, 1e-6);
      }
  }
}

TEST(Regression, EvaluatesBlocksAndPointsAsPlainSums) {
  for (const auto& c : regression_cases()) {
    SCOPED_TRACE(c.text());
    const auto data = toy_targets(300, kFeatures, c.outputs, c.sparse);
    const auto model = regression_model(c);
    const auto x = regression_point(model->dim(), 1), y = regression_point(model->dim(), 2);
    double loss = 0, squared_error = 0;
    Vector expected(model->dim(), 1.0), gradient(model->dim(), 1.0);
    for (std::size_t row = 3; row < 290; ++row) {
      const auto answer = plain_answer(c, x, data[row]);
      loss += answer.loss;
      for (std::size_t o = 0; o < c.outputs; ++o) {
        const double r = answer.predictions[o] - double{data.targets(row)[o]};
        squared_error += r * r;
      }
      axpy(1.0, answer.gradient, expected);
    }
    const auto totals = model->evaluate(x, data, 3, 290, gradient);
    EXPECT_NEAR(totals.loss, loss, 1e-10 * loss);
    EXPECT_NEAR(totals.squared_error, squared_error, 1e-10 * squared_error);
    EXPECT_EQ(totals.correct, 0U);
    expect_near(gradient, expected, 1e-10);
    const std::vector<std::span<const double>> points = {y, x};
    std::vector<Model::Totals> both(2);
    model->evaluate_points(points, data, 3, 290, both);
    EXPECT_NEAR(both[1].loss, loss, 1e-10 * loss);
    EXPECT_NEAR(both[1].squared_error, squared_error, 1e-10 * squared_error);
  }
}

TEST(Regression, HasTheSameBitsOnEveryInstructionSet) {
  const auto data = toy_targets(200, kFeatures, 3, false);
  std::vector<std::uint32_t> rows(150);
  for (std::uint32_t i = 0; i < 150; ++i) rows[i] = i;
  for (const auto loss : all_choices<LossKind>()) {
    const auto model = make_model({.name = "mlp", .hidden = {9}, .loss = loss}, kFeatures, 0, 3);
    const auto x = regression_point(model->dim(), 4);
    Vector first;
    for_every_simd_target([&](const std::string&) {
      Workspace workspace;
      Vector sum(model->dim());
      model->gradient_sum(x, {data, 0, rows, nullptr}, sum, workspace);
      if (first.empty()) first = sum;
      EXPECT_EQ(sum, first);
    });
  }
}

// Solves A w = b by elimination with pivots.
Vector solve(std::vector<Vector> A, Vector b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i; r < b.size(); ++r)
      if (std::abs(A[r][i]) > std::abs(A[pivot][i])) pivot = r;
    std::swap(A[i], A[pivot]);
    std::swap(b[i], b[pivot]);
    for (std::size_t r = 0; r < b.size(); ++r) {
      if (r == i) continue;
      const double factor = A[r][i] / A[i][i];
      for (std::size_t k = i; k < b.size(); ++k) A[r][k] -= factor * A[i][k];
      b[r] -= factor * b[i];
    }
  }
  for (std::size_t i = 0; i < b.size(); ++i) b[i] /= A[i][i];
  return b;
}

// The weights of one target by the normal equations.
Vector least_squares(const Dataset& data, std::size_t output) {
  std::vector<Vector> A(kFeatures, Vector(kFeatures, 0.0));
  Vector b(kFeatures, 0.0);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const auto f = dense_features(data[row]);
    for (std::size_t i = 0; i < kFeatures; ++i) {
      for (std::size_t j = 0; j < kFeatures; ++j) A[i][j] += f[i] * f[j];
      b[i] += f[i] * double{data.targets(row)[output]};
    }
  }
  return solve(A, b);
}

TEST(Regression, TheSquaredLossIsLeastAtTheNormalEquations) {
  for (const std::size_t outputs : {1, 3})
    for (const bool sparse : {false, true}) {
      const auto data = toy_targets(120, kFeatures, outputs, sparse);
      const auto model =
          make_model({.name = "linear", .loss = LossKind::squared}, kFeatures, 0, outputs);
      Vector x, gradient(model->dim(), 0.0);
      for (std::size_t o = 0; o < outputs; ++o) {
        const auto w = least_squares(data, o);
        x.insert(x.end(), w.begin(), w.end());
      }
      model->evaluate(x, data, 0, 120, gradient);
      EXPECT_LT(std::sqrt(squared_norm(gradient)), 1e-10);
    }
}

TEST(Regression, DescentRecoversTheWeightsOfNoiselessData) {
  const auto data = toy_targets(120, kFeatures, 2, false, 0);
  const auto model = make_model({.name = "linear", .loss = LossKind::squared}, kFeatures, 0, 2);
  Vector x(model->dim(), 0.0), gradient(model->dim()), teacher(model->dim());
  RngStream(97, Draw::test, 0, 0).fill_normal(teacher);
  for (int step = 0; step < 2000; ++step) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    model->evaluate(x, data, 0, 120, gradient);
    axpy(-0.005, gradient, x);
  }
  expect_near(x, teacher, 1e-6);  // the targets are floats
}

TEST(Regression, AModelOfOnesOwnThatPredictsOneNumberRefusesSeveralTargets) {
  class Own final : public Model {
   public:
    std::size_t dim() const override { return 1; }
    double loss(std::span<const double>, const Sample&, std::span<double>) const override {
      return 0;
    }
    double predict(std::span<const double>, const Sample&) const override { return 2; }
  };
  const Vector x = {0};
  auto data = toy_targets(4, kFeatures, 1, false);
  data.labels = {2, 3, 2, 5};
  EXPECT_EQ(Own().evaluate(x, data, 0, 4, {}).squared_error, 10);
  data = toy_targets(4, kFeatures, 2, false);
  EXPECT_THROW(Own().evaluate(x, data, 0, 4, {}), Error);
}

}  // namespace
}  // namespace porter
