// SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"
#include "porter/core/matmul.hpp"
#include "registry.hpp"
#include "terms.hpp"

namespace porter {
namespace {

// Multinomial logistic regression: x = vec(W), one row of W per class, scores s = W f,
//   l(x; f, y) = log sum_c exp(s_c) - s_y + lambda sum_j x_j^2 / (1 + x_j^2).
class Softmax final : public Model {
 public:
  Softmax(double lambda, std::size_t features, std::size_t classes)
      : lambda_(lambda), features_(features), classes_(classes) {}

  std::size_t dim() const override { return classes_ * features_; }

  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    auto s = scores(x, sample);
    const auto label = static_cast<std::size_t>(sample.label);
    const double label_score = s[label];
    const double data_term = softmax_in_place(s) - label_score;
    std::fill(gradient.begin(), gradient.end(), 0.0);
    if (!gradient.empty()) {
      s[label] -= 1;
      for (std::size_t c = 0; c < classes_; ++c)
        add_features(s[c], sample, gradient.subspan(c * features_, features_));
    }
    return data_term + regulariser(lambda_, x, gradient);
  }

  double predict(std::span<const double> x, const Sample& sample) const override {
    return static_cast<double>(argmax(scores(x, sample)));
  }

  Totals evaluate(std::span<const double> x, const Dataset& data, std::size_t first,
                  std::size_t last, std::span<double> gradient_sum) const override {
    const auto transposed = transpose(x, classes_, features_);
    std::vector<double> inputs, s;
    Totals totals;
    for_each_block(first, last, [&](std::size_t begin, std::size_t rows) {
      dense_block(data, begin, rows, inputs);
      s.assign(rows * classes_, 0.0);
      multiply_add(rows, classes_, features_, {inputs.data(), features_, 1}, transposed.data(),
                   classes_, s.data(), classes_);
      add_cross_entropy(data, begin, rows, classes_, s, totals);
      if (!gradient_sum.empty())
        multiply_add(classes_, features_, rows, {s.data(), 1, classes_}, inputs.data(), features_,
                     gradient_sum.data(), features_);
    });
    const auto rows = static_cast<double>(last - first);
    totals.loss += rows * regulariser(lambda_, x, gradient_sum, rows);
    return totals;
  }

 private:
  std::vector<double> scores(std::span<const double> x, const Sample& sample) const {
    std::vector<double> s(classes_);
    for (std::size_t c = 0; c < classes_; ++c)
      s[c] = inner_product(x.subspan(c * features_, features_), sample);
    return s;
  }

  double lambda_;
  std::size_t features_, classes_;
};

}  // namespace

std::unique_ptr<const Model> make_softmax(const ModelOptions& options, std::size_t features,
                                          std::size_t classes) {
  return std::make_unique<Softmax>(options.lambda, features, classes);
}

}  // namespace porter
