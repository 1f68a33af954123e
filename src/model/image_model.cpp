// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/vector_math.hpp"
#include "float_pass.hpp"
#include "porter/core/thread_pool.hpp"
#include "registry.hpp"
#include "score_loss.hpp"
#include "stack_pass.hpp"
#include "terms.hpp"

namespace porter {
namespace {

// A stack of layers over images (layer_stack.hpp has the formulas) with softmax cross-entropy, or
// as a regression whose predictions are the scores, and lambda sum_j x_j^2 / (1 + x_j^2).
class ImageModel final : public Model {
 public:
  ImageModel(double lambda, std::optional<LossKind> loss, LayerStack stack)
      : lambda_(lambda), loss_(loss), stack_(std::move(stack)) {}

  std::size_t dim() const override { return stack_.dim; }

  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    return with_scores(x, sample, [&](StackPass<double>& pass) {
      Totals totals;
      loss_.add_totals(targets_of(sample), pass.scores(), totals);
      std::fill(gradient.begin(), gradient.end(), 0.0);
      if (!gradient.empty()) {
        pass.backward();
        pass.add_gradient(gradient);
      }
      return totals.loss + regulariser(lambda_, x, gradient);
    });
  }

  double predict(std::span<const double> x, const Sample& sample) const override {
    return with_scores(x, sample, [&](StackPass<double>& pass) {
      const auto scores = pass.scores();
      return loss_.is_regression() ? scores[0] : static_cast<double>(argmax(scores));
    });
  }

  void probabilities(std::span<const double> x, const Sample& sample,
                     std::span<double> out) const override {
    with_scores(x, sample, [&](StackPass<double>& pass) {
      softmax_in_place(pass.scores());
      std::ranges::copy(pass.scores(), out.begin());
    });
  }

  void predict_targets(std::span<const double> x, const Sample& sample,
                       std::span<double> predictions) const override {
    if (!loss_.is_regression()) return Model::predict_targets(x, sample, predictions);
    with_scores(x, sample, [&](StackPass<double>& pass) {
      std::ranges::copy(pass.scores(), predictions.begin());
    });
  }

  // The regulariser's gradient, which every sample has, is not made of layers: one by one.
  double gradient_sum(std::span<const double> x, const BatchRequest& batch, std::span<double> sum,
                      Workspace& workspace) const override {
    if (lambda_ > 0) return Model::gradient_sum(x, batch, sum, workspace);
    batch_gradient(x, batch, sum, workspace.get<Memory>().wide);
    return 1;
  }

  bool gradient_sum_in_float(std::span<const float> x, const BatchRequest& batch,
                             std::span<float> sum, Workspace& workspace) const override {
    if (lambda_ > 0) return false;
    batch_gradient(x, batch, sum, workspace.get<Memory>().narrow);
    return true;
  }

  Totals evaluate(std::span<const double> x, const Dataset& data, std::size_t first,
                  std::size_t last, std::span<double> gradient_sum) const override {
    const auto memory = memories_.take();
    StackPass<double> pass(stack_, x, *memory);
    auto totals = evaluate_blocks(pass, pass.most_rows(), loss_, data, first, last, gradient_sum);
    const double weight = data.weight_of(first, last);
    totals.loss += weight * regulariser(lambda_, x, gradient_sum, weight);
    return totals;
  }

  // In float where digits do not cancel, as those of a regression do, and no row has a weight.
  void evaluate_points(std::span<const std::span<const double>> points, const Dataset& data,
                       std::size_t first, std::size_t last,
                       std::span<Totals> totals) const override {
    if (loss_.is_regression() || !data.weights.empty() ||
        !std::ranges::all_of(points, FloatPass::fits))
      return Model::evaluate_points(points, data, first, last, totals);
    for (std::size_t p = 0; p < points.size(); ++p)
      totals[p] = evaluate_in_float(points[p], data, first, last);
  }

 private:
  struct Memory {
    StackMemory<double> wide;
    StackMemory<float> narrow;
  };

  // use(pass) with the scores of one sample.
  template <class Use>
  std::invoke_result_t<Use, StackPass<double>&> with_scores(std::span<const double> x,
                                                            const Sample& sample,
                                                            const Use& use) const {
    const auto memory = memories_.take();
    StackPass<double> pass(stack_, x, *memory);
    pass.load(sample);
    return use(pass);
  }

  Totals evaluate_in_float(std::span<const double> x, const Dataset& data, std::size_t first,
                           std::size_t last) const {
    const auto memory = narrow_memories_.take();
    std::vector<float> narrow_x(x.size());
    scaled_copy(1.0, x, narrow_x);
    std::vector<double> scores;
    StackPass<float> pass(stack_, narrow_x, *memory);
    Totals totals;
    for (std::size_t begin = first; begin < last; begin += pass.most_rows()) {
      const auto rows = std::min(pass.most_rows(), last - begin);
      pass.load(data, rows, [&](std::size_t i) { return begin + i; });
      scores.assign(pass.scores().begin(), pass.scores().end());
      loss_.add_totals(std::span(data.labels).subspan(begin, rows), scores, totals);
    }
    totals.loss += static_cast<double>(last - first) * regulariser(lambda_, x, {});
    return totals;
  }

  template <class Real>
  void batch_gradient(std::span<const Real> x, const BatchRequest& batch, std::span<Real> sum,
                      StackMemory<Real>& memory) const {
    using Gradients = typename StackPass<Real>::Gradients;
    std::fill(sum.begin(), sum.end(), Real{0});
    if (batch.rows.empty()) return;
    StackPass<Real> pass(stack_, x, memory);
    for (std::size_t begin = 0; begin < batch.rows.size(); begin += pass.most_rows()) {
      const auto rows =
          batch.rows.subspan(begin, std::min(pass.most_rows(), batch.rows.size() - begin));
      pass.load(batch.data, rows.size(), [&](std::size_t i) { return batch.first_row + rows[i]; });
      for (std::size_t i = 0; i < rows.size(); ++i)
        loss_.to_delta(batch.data.targets(batch.first_row + rows[i]), pass.scores(i));
      pass.backward(batch.factor ? Gradients::apart : Gradients::together);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double norm = batch.factor ? std::sqrt(pass.squared_norm(i)) : 0;
        const double factor = batch.factor_of(begin + i, norm);
        if (factor != 1) pass.scale(i, factor);
      }
      pass.add_gradient(sum);
    }
  }

  double lambda_;
  ScoreLoss loss_;
  LayerStack stack_;
  // Samples and evaluations come again and again; their memory is better kept than asked for anew.
  mutable ScratchPool<StackMemory<double>> memories_;
  mutable ScratchPool<StackMemory<float>> narrow_memories_;
};

}  // namespace

std::unique_ptr<const Model> make_image_model(const ModelOptions& options, std::size_t features,
                                              std::size_t scores) {
  return std::make_unique<ImageModel>(options.lambda, regression_loss(options),
                                      stack_of(options, features, scores));
}

}  // namespace porter
