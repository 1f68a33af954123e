// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/vector_math.hpp"
#include "linear_sum.hpp"
#include "registry.hpp"
#include "score_pass.hpp"
#include "terms.hpp"

namespace porter {
namespace {

// log(1 + exp(-t)) without overflow.
double softplus_minus(double t) {
  return t > 0 ? std::log1p(exact_exp(-t)) : -t + std::log1p(exact_exp(t));
}

// Logistic regression with the nonconvex regulariser (section 5.1 of the paper, its typo mended):
//   l(x; f, y) = log(1 + exp(-y x'f)) + lambda sum_j x_j^2 / (1 + x_j^2),   y = -1 for class 0, +1
//   for class 1.
class Logistic final : public Model {
 public:
  Logistic(double lambda, std::size_t features) : lambda_(lambda), features_(features) {}

  std::size_t dim() const override { return features_; }

  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    return data_term(x, sample, gradient) + regulariser(lambda_, x, gradient);
  }

  double predict(std::span<const double> x, const Sample& sample) const override {
    return inner_product(x, sample) > 0 ? 1 : 0;
  }

  void probabilities(std::span<const double> x, const Sample& sample,
                     std::span<double> out) const override {
    out[1] = 1 / (1 + exact_exp(-inner_product(x, sample)));
    out[0] = 1 - out[1];
  }

  double gradient_sum(std::span<const double> x, const BatchRequest& batch, std::span<double> sum,
                      Workspace& workspace) const override {
    return linear_gradient_sum(lambda_, x, batch, sum, workspace, [](double score, float label) {
      const double y = label > 0 ? 1 : -1;
      return -y / (1 + exact_exp(y * score));
    });
  }

  bool sample_gradients(std::span<const AgentBatch> agents,
                        std::span<double> scales) const override {
    linear_sample_gradients(lambda_, agents, scales,
                            [](std::span<double> scores, std::span<const float> labels) {
                              for (std::size_t i = 0; i < scores.size(); ++i)
                                scores[i] *= labels[i] > 0 ? 1 : -1;
                              exp_in_place(scores);
                              for (std::size_t i = 0; i < scores.size(); ++i)
                                scores[i] = (labels[i] > 0 ? -1 : 1) / (1 + scores[i]);
                            });
    return true;
  }

  // The regulariser is the same for every row, so it is added once.
  Totals evaluate(std::span<const double> x, const Dataset& data, std::size_t first,
                  std::size_t last, std::span<double> gradient_sum) const override {
    if (!data.weights.empty()) return evaluate_weighted(x, data, first, last, gradient_sum);
    Totals totals;
    ScorePass pass({&x, 1}, data);
    for (std::size_t begin = first; begin < last; begin += kMaxRows) {
      const std::size_t rows = std::min(kMaxRows, last - begin);
      pass.load(begin, rows);
      pass.add_totals({&totals, 1});
      if (gradient_sum.empty()) continue;
      for (std::size_t i = 0; i < rows; ++i)
        add_features(pass.slope(i), data[begin + i], gradient_sum);
    }
    const auto rows = static_cast<double>(last - first);
    totals.loss += rows * regulariser(lambda_, x, gradient_sum, rows);
    return totals;
  }

  void evaluate_points(std::span<const std::span<const double>> points, const Dataset& data,
                       std::size_t first, std::size_t last,
                       std::span<Totals> totals) const override {
    if (!data.weights.empty()) return Model::evaluate_points(points, data, first, last, totals);
    std::fill(totals.begin(), totals.end(), Totals{});
    ScorePass pass(points, data);
    for (std::size_t begin = first; begin < last; begin += kMaxRows) {
      pass.load(begin, std::min(kMaxRows, last - begin));
      pass.add_totals(totals);
    }
    for (std::size_t p = 0; p < points.size(); ++p)
      totals[p].loss += static_cast<double>(last - first) * regulariser(lambda_, points[p], {});
  }

 private:
  // log(1 + exp(-y x'f)); adds its gradient -y f / (1 + exp(y x'f)) times the weight.
  static double data_term(std::span<const double> x, const Sample& sample,
                          std::span<double> gradient, double weight = 1) {
    const double y = sample.label > 0 ? 1 : -1;
    const double margin = y * inner_product(x, sample);
    if (!gradient.empty()) add_features(-weight * y / (1 + exact_exp(margin)), sample, gradient);
    return softplus_minus(margin);
  }

  // A sum of logarithms that is taken of a product has no room for weights.
  Totals evaluate_weighted(std::span<const double> x, const Dataset& data, std::size_t first,
                           std::size_t last, std::span<double> gradient_sum) const {
    Totals totals;
    for (std::size_t row = first; row < last; ++row) {
      const Sample sample = data[row];
      const double weight = data.weight(row);
      totals.loss += weight * data_term(x, sample, gradient_sum, weight);
      if (predict(x, sample) == double{sample.label}) totals.correct += weight;
    }
    const double weight = data.weight_of(first, last);
    totals.loss += weight * regulariser(lambda_, x, gradient_sum, weight);
    return totals;
  }

  double lambda_;
  std::size_t features_;
};

}  // namespace

std::unique_ptr<const Model> make_logistic(const ModelOptions& options, std::size_t features,
                                           std::size_t) {
  return std::make_unique<Logistic>(options.lambda, features);
}

}  // namespace porter
