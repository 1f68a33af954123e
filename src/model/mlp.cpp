// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "batch_pass.hpp"
#include "core/vector_math.hpp"
#include "float_pass.hpp"
#include "porter/core/thread_pool.hpp"
#include "registry.hpp"
#include "sample_pass.hpp"
#include "score_loss.hpp"
#include "terms.hpp"

namespace porter {
namespace {

// A multi-layer perceptron with softmax cross-entropy (section 5.2 of the paper, any number of
// layers; layers.hpp has the formulas), or as a regression whose predictions are the scores, and
// lambda sum_j x_j^2 / (1 + x_j^2).
class Mlp final : public Model {
 public:
  Mlp(double lambda, std::optional<LossKind> loss, Layers layers)
      : lambda_(lambda), loss_(loss), layers_(std::move(layers)) {}

  std::size_t dim() const override { return layers_.dim; }

  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    Slots slots;
    SamplePass<double> pass(layers_, x, sample, slots);
    Totals totals;
    loss_.add_totals(targets_of(sample), pass.scores(), totals);
    if (!gradient.empty()) pass.backward(gradient);
    return totals.loss + regulariser(lambda_, x, gradient);
  }

  double predict(std::span<const double> x, const Sample& sample) const override {
    Slots slots;
    const auto scores = SamplePass<double>(layers_, x, sample, slots).scores();
    return loss_.is_regression() ? scores[0] : static_cast<double>(argmax(scores));
  }

  void probabilities(std::span<const double> x, const Sample& sample,
                     std::span<double> out) const override {
    Slots slots;
    const auto scores = SamplePass<double>(layers_, x, sample, slots).scores();
    softmax_in_place(scores);
    std::ranges::copy(scores, out.begin());
  }

  void predict_targets(std::span<const double> x, const Sample& sample,
                       std::span<double> predictions) const override {
    if (!loss_.is_regression()) return Model::predict_targets(x, sample, predictions);
    Slots slots;
    std::ranges::copy(SamplePass<double>(layers_, x, sample, slots).scores(), predictions.begin());
  }

  double gradient_sum(std::span<const double> x, const BatchRequest& batch, std::span<double> sum,
                      Workspace& workspace) const override {
    auto& memory = workspace.get<Memory>();
    if (batch.rows.size() == 1) return written_gradient(x, batch, sum, memory.wide.levels);
    batch_gradient(x, batch, sum, memory.wide);
    return 1;
  }

  // One sample is bound by memory, not by products; the regulariser is in double.
  bool gradient_sum_in_float(std::span<const float> x, const BatchRequest& batch,
                             std::span<float> sum, Workspace& workspace) const override {
    if (batch.rows.size() <= 1 || lambda_ > 0) return false;
    batch_gradient(x, batch, sum, workspace.get<Memory>().narrow);
    return true;
  }

  // The regulariser is not made of products, and zeros of a sparse sample are better left out. A
  // sample that counts for nothing is written as zeros.
  std::optional<double> sample_gradient(std::span<const float> x, const BatchRequest& batch,
                                        OuterProducts& gradient,
                                        Workspace& workspace) const override {
    return gradient_in_factors(x, batch, gradient, workspace);
  }
  std::optional<double> sample_gradient(std::span<const double> x, const BatchRequest& batch,
                                        OuterProducts& gradient,
                                        Workspace& workspace) const override {
    return gradient_in_factors(x, batch, gradient, workspace);
  }

  Totals evaluate(std::span<const double> x, const Dataset& data, std::size_t first,
                  std::size_t last, std::span<double> gradient_sum) const override {
    const auto memory = batches_.take();
    BatchPass<double> pass(layers_, x, *memory);
    auto totals = evaluate_blocks(pass, kMaxRows, loss_, data, first, last, gradient_sum);
    if (!gradient_sum.empty()) pass.finish(gradient_sum);
    const double weight = data.weight_of(first, last);
    totals.loss += weight * regulariser(lambda_, x, gradient_sum, weight);
    return totals;
  }

  // Not a regression in float: where predictions come near to their targets, digits cancel. Nor
  // rows with weights.
  void evaluate_points(std::span<const std::span<const double>> points, const Dataset& data,
                       std::size_t first, std::size_t last,
                       std::span<Totals> totals) const override {
    if (loss_.is_regression() || !data.weights.empty() ||
        !std::ranges::all_of(points, FloatPass::fits))
      return Model::evaluate_points(points, data, first, last, totals);
    std::fill(totals.begin(), totals.end(), Totals{});
    const auto pass = float_passes_.take();
    pass->begin(layers_, points);
    for (std::size_t begin = first; begin < last; begin += FloatPass::kMaxRows) {
      pass->load(data, begin, std::min(FloatPass::kMaxRows, last - begin));
      pass->add_totals(totals);
    }
    for (std::size_t p = 0; p < points.size(); ++p)
      totals[p].loss += static_cast<double>(last - first) * regulariser(lambda_, points[p], {});
  }

 private:
  struct Memory {
    BatchMemory<double> wide;
    BatchMemory<float> narrow;
  };

  template <class Real>
  void batch_gradient(std::span<const Real> x, const BatchRequest& batch, std::span<Real> sum,
                      BatchMemory<Real>& memory) const {
    std::fill(sum.begin(), sum.end(), Real{0});
    if (batch.rows.empty()) return;
    std::span<Real> r;
    if constexpr (std::is_same_v<Real, double>)
      if (lambda_ > 0) {
        r = memory.others.take(layers_.size() + 3, dim());
        regulariser_gradient(lambda_, x, r);
      }
    const double r_sq = squared_norm(r);
    double weight = 0;  // of the regulariser's gradient, which every sample has
    BatchPass<Real> pass(layers_, x, memory);
    for (std::size_t begin = 0; begin < batch.rows.size(); begin += kMaxRows) {
      const auto rows = batch.rows.subspan(begin, std::min(kMaxRows, batch.rows.size() - begin));
      pass.load(batch.data, rows.size(), [&](std::size_t i) { return batch.first_row + rows[i]; });
      for (std::size_t i = 0; i < rows.size(); ++i)
        loss_.to_delta(batch.data.targets(batch.first_row + rows[i]), pass.scores(i));
      pass.backward();
      std::array<double, kMaxRows> products{};
      if (batch.factor && !r.empty())
        pass.multiply_gradients(r, std::span(products).first(rows.size()));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        double norm = 0;
        if (batch.factor) {
          const double g_sq = pass.squared_norm(i);
          norm = r.empty() ? std::sqrt(g_sq) : norm_of_sum(g_sq, products[i], r_sq, r.size());
        }
        const double factor = batch.factor_of(begin + i, norm);
        if (factor != 1) pass.scale(i, factor);
        weight += factor;
      }
      pass.add_gradient(sum);
    }
    pass.finish(sum);
    if (!r.empty()) axpy(static_cast<Real>(weight), r, sum);
  }

  template <class Real>
  std::optional<double> gradient_in_factors(std::span<const Real> x, const BatchRequest& batch,
                                            OuterProducts& gradient, Workspace& workspace) const {
    const Sample sample = batch.data[batch.first_row + batch.rows[0]];
    if (lambda_ > 0 || sample.sparse) return std::nullopt;
    SamplePass<Real> pass(layers_, x, sample, workspace.get<Memory>().wide.levels);
    loss_.to_delta(targets_of(sample), pass.scores());
    const double norm_sq = pass.backward(gradient);
    const double factor = batch.factor_of(0, std::sqrt(norm_sq));
    if (factor == 0) return std::nullopt;
    return factor;
  }

  double written_gradient(std::span<const double> x, const BatchRequest& batch,
                          std::span<double> gradient, Slots& slots) const {
    const Sample sample = batch.data[batch.first_row + batch.rows[0]];
    SamplePass<double> pass(layers_, x, sample, slots);
    loss_.to_delta(targets_of(sample), pass.scores());
    double norm_sq = pass.backward(gradient);
    if (lambda_ > 0) {
      regulariser(lambda_, x, gradient);
      if (batch.factor) norm_sq = squared_norm(gradient);
    }
    return sample_factor(batch, norm_sq, gradient);
  }

  double lambda_;
  ScoreLoss loss_;
  Layers layers_;
  // Evaluations come again and again, each with megabytes that are better kept than asked for anew.
  mutable ScratchPool<BatchMemory<double>> batches_;
  mutable ScratchPool<FloatPass> float_passes_;
};

}  // namespace

std::unique_ptr<const Model> make_mlp(const ModelOptions& options, std::size_t features,
                                      std::size_t scores) {
  auto widths = options.hidden;
  widths.push_back(scores);
  return std::make_unique<Mlp>(options.lambda, regression_loss(options),
                               Layers(features, widths, true, options.activation));
}

std::unique_ptr<const Model> make_flat_perceptron(double lambda, std::optional<LossKind> loss,
                                                  std::size_t features, std::size_t scores) {
  return std::make_unique<Mlp>(lambda, loss,
                               Layers(features, {scores}, false, ActivationKind::sigmoid));
}

// Multinomial logistic regression is the perceptron without hidden layers and biases: x = vec(W),
// one row of W per class.
std::unique_ptr<const Model> make_softmax(const ModelOptions& options, std::size_t features,
                                          std::size_t classes) {
  return make_flat_perceptron(options.lambda, std::nullopt, features, classes);
}

}  // namespace porter
