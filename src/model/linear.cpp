// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "linear_sum.hpp"
#include "registry.hpp"
#include "terms.hpp"

namespace porter {
namespace {

// Linear regression with a robust, nonconvex loss (Cauchy's: an outlier's pull falls off as 1 /
// residual):
//   l(x; f, y) = log(1 + r^2 / 2) + lambda sum_j x_j^2 / (1 + x_j^2),   r = x'f - y.
class Linear final : public Model {
 public:
  Linear(double lambda, std::size_t features) : lambda_(lambda), features_(features) {}

  std::size_t dim() const override { return features_; }

  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    const double r = inner_product(x, sample) - double{sample.label};
    std::fill(gradient.begin(), gradient.end(), 0.0);
    if (!gradient.empty()) add_features(slope(r), sample, gradient);
    return std::log1p(r * r / 2) + regulariser(lambda_, x, gradient);
  }

  double predict(std::span<const double> x, const Sample& sample) const override {
    return inner_product(x, sample);
  }

  double gradient_sum(std::span<const double> x, const BatchRequest& batch, std::span<double> sum,
                      Workspace& workspace) const override {
    return linear_gradient_sum(lambda_, x, batch, sum, workspace, [](double score, float label) {
      return slope(score - double{label});
    });
  }

 private:
  static double slope(double r) { return r / (1 + r * r / 2); }

  double lambda_;
  std::size_t features_;
};

}  // namespace

std::unique_ptr<const Model> make_linear(const ModelOptions& options, std::size_t features,
                                         std::size_t) {
  return std::make_unique<Linear>(options.lambda, features);
}

}  // namespace porter
