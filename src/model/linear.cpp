// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "linear_sum.hpp"
#include "registry.hpp"
#include "residuals.hpp"
#include "terms.hpp"

namespace porter {
namespace {

// Linear regression for one target y:
//   l(x; f, y) = phi(x'f - y) + lambda sum_j x_j^2 / (1 + x_j^2),
// phi as residuals.hpp has it. Cauchy's is robust and nonconvex: an outlier's pull falls off as 1 /
// residual.
class Linear final : public Model {
 public:
  Linear(double lambda, LossKind loss, std::size_t features)
      : lambda_(lambda), loss_(loss), features_(features) {}

  std::size_t dim() const override { return features_; }

  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    const double r = inner_product(x, sample) - double{sample.label};
    std::fill(gradient.begin(), gradient.end(), 0.0);
    if (!gradient.empty()) add_features(residual_slope(loss_, r), sample, gradient);
    return residual_loss(loss_, r) + regulariser(lambda_, x, gradient);
  }

  double predict(std::span<const double> x, const Sample& sample) const override {
    return inner_product(x, sample);
  }

  double gradient_sum(std::span<const double> x, const BatchRequest& batch, std::span<double> sum,
                      Workspace& workspace) const override {
    return linear_gradient_sum(lambda_, x, batch, sum, workspace,
                               [kind = loss_](double score, float label) {
                                 return residual_slope(kind, score - double{label});
                               });
  }

  bool sample_gradients(std::span<const AgentBatch> agents,
                        std::span<double> scales) const override {
    linear_sample_gradients(
        lambda_, agents, scales,
        [kind = loss_](std::span<double> scores, std::span<const float> labels) {
          for (std::size_t i = 0; i < scores.size(); ++i)
            scores[i] = residual_slope(kind, scores[i] - double{labels[i]});
        });
    return true;
  }

 private:
  double lambda_;
  LossKind loss_;
  std::size_t features_;
};

}  // namespace

// For several targets it is the perceptron without hidden layers and biases: x = vec(W), one row of
// W per target.
std::unique_ptr<const Model> make_linear(const ModelOptions& options, std::size_t features,
                                         std::size_t outputs) {
  const auto loss = *regression_loss(options);
  if (outputs == 1) return std::make_unique<Linear>(options.lambda, loss, features);
  return make_flat_perceptron(options.lambda, loss, features, outputs);
}

}  // namespace porter
