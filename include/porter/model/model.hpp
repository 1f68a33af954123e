// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "porter/core/choice.hpp"
#include "porter/data/dataset.hpp"
#include "porter/data/image.hpp"
#include "porter/model/activation.hpp"
#include "porter/model/outer_products.hpp"

namespace porter {

/// The samples of one stochastic gradient: rows first_row + rows[i] of the data.
struct BatchRequest {
  const Dataset& data;
  std::size_t first_row = 0;
  std::span<const std::uint32_t> rows;
  /// What a sample's gradient of this norm is multiplied by before it is added; 0 leaves the sample
  /// out, whatever its gradient holds. Null: 1, and no norm is computed. (A function and not a
  /// Clip: models know nothing of privacy.)
  const std::function<double(double norm)>* factor = nullptr;

  /// Of the sample rows[i].
  double weight(std::size_t i) const { return data.weight(first_row + rows[i]); }
  /// What the gradient of rows[i], of this norm, is multiplied by: its weight w, then the factor of
  /// w times the norm.
  double factor_of(std::size_t i, double norm) const {
    const double w = weight(i);
    return factor ? w * (*factor)(w * norm) : w;
  }
};

/// An agent's part in the gradients of a round.
struct AgentBatch {
  std::span<const double> x;
  BatchRequest batch;
  std::span<double> sum;  ///< to be overwritten as by Model::gradient_sum
};

/// What a model keeps from call to call, so that it need not allocate. The caller owns it and uses
/// it with one model; two threads need two.
class Workspace {
 public:
  /// The T that is kept here; a new one where there was none, or something else.
  template <class T>
  T& get() {
    if (auto* kept = std::any_cast<T>(&kept_)) return *kept;
    return kept_.emplace<T>();
  }

 private:
  std::any kept_;
};

/// A loss over parameters x. A model of your own is one class with the three functions dim, loss
/// and predict (examples/01_own_model.cpp). Immutable: one object serves all agents and threads.
class Model {
 public:
  virtual ~Model() = default;

  /// The number of parameters.
  virtual std::size_t dim() const = 0;

  /// Whether losses can be asked for; without them a run has no figures of its training data.
  virtual bool has_loss() const { return true; }
  /// Whether it predicts; without that a run has no accuracy and no errors of predictions.
  virtual bool predicts() const { return true; }

  /// The loss of one sample at x, regulariser included, its weight not. Unless `gradient` is empty,
  /// also overwrites it with the gradient with respect to x.
  virtual double loss(std::span<const double> x, const Sample& sample,
                      std::span<double> gradient) const = 0;

  /// The class number that x predicts for the sample, or the value in a regression; the first of
  /// several.
  virtual double predict(std::span<const double> x, const Sample& sample) const = 0;

  /// The values of a regression, one for each target of a sample. The default is for one.
  virtual void predict_targets(std::span<const double> x, const Sample& sample,
                               std::span<double> predictions) const;

  /// What x gives each class, one number for each and 1 in all. The default is sure of `predict`.
  virtual void probabilities(std::span<const double> x, const Sample& sample,
                             std::span<double> out) const;

  /// The sum over a batch of clipped gradients, w_z the samples' weights, what a training step
  /// needs:
  ///   sum_z factor(|w_z grad l(x; z)|) w_z grad l(x; z)  =  returned scale * `sum`,
  /// with `sum` overwritten (zero for an empty batch). The scale spares the one who reads `sum`
  /// next a pass. The default calls `loss` sample by sample; models with structure do better, and
  /// have BatchRequest::factor_of for what a gradient is multiplied by.
  virtual double gradient_sum(std::span<const double> x, const BatchRequest& batch,
                              std::span<double> sum, Workspace& workspace) const;
  /// The same, with the scale 1, where the model can do it faster in float: `sum` is then off by
  /// about 1e-6 of its size, or of what it would be for targets of 0. Returns whether it did; the
  /// default never does.
  virtual bool gradient_sum_in_float(std::span<const float> x, const BatchRequest& batch,
                                     std::span<float> sum, Workspace& workspace) const;

  /// Whether the gradients of a round are asked for once, of all agents that are here, by
  /// gradient_sums on the thread that steps, and never by the three others: for what computes
  /// elsewhere, where a call costs more than an agent does. The scales are 1. Methods that take
  /// gradients at several points ask sample by sample, and are refused.
  virtual bool joins_agents() const { return false; }
  virtual void gradient_sums(std::span<const AgentBatch> agents) const;

  /// gradient_sum of one sample at an x of either type, where its gradient is made of outer
  /// products: the scale, with `gradient` overwritten. nullopt if it is not, and by default.
  virtual std::optional<double> sample_gradient(std::span<const float> x, const BatchRequest& batch,
                                                OuterProducts& gradient,
                                                Workspace& workspace) const;
  virtual std::optional<double> sample_gradient(std::span<const double> x,
                                                const BatchRequest& batch, OuterProducts& gradient,
                                                Workspace& workspace) const;

  /// Each with the weights of the rows.
  struct Totals {
    double loss = 0;
    double correct = 0;        ///< of classes: predictions equal to the label
    double squared_error = 0;  ///< of a regression: (prediction - target)^2, over all targets

    void add(const Totals& other, double weight = 1) {
      loss += weight * other.loss;
      correct += weight * other.correct;
      squared_error += weight * other.squared_error;
    }
  };
  /// Sums over rows [first, last) of the data; unless `gradient_sum` is empty, adds their gradients
  /// to it, with their weights, too. The default calls loss and predict row by row; models with
  /// matrix structure do better.
  virtual Totals evaluate(std::span<const double> x, const Dataset& data, std::size_t first,
                          std::size_t last, std::span<double> gradient_sum) const;

  /// The same sums at several points, without gradients: totals[p] of points[p]. A loss may be off
  /// by 1e-6 of itself and 1e-6 per row. The default calls evaluate point by point; a model that
  /// reads the data once for all of them is faster.
  virtual void evaluate_points(std::span<const std::span<const double>> points, const Dataset& data,
                               std::size_t first, std::size_t last, std::span<Totals> totals) const;

  /// gradient_sum for several agents of one sample each, where the model computes all of them side
  /// by side: scales[i] is what gradient_sum returns for agents[i]. Returns whether it did; the
  /// default never does.
  virtual bool sample_gradients(std::span<const AgentBatch> agents, std::span<double> scales) const;
};

/// Model::loss and its gradient times the weight of the sample.
double weighted_loss(const Model& model, std::span<const double> x, const Sample& sample,
                     std::span<double> gradient);

/// phi of a residual r = prediction - target; the loss of a sample is the sum over its targets.
enum class LossKind {
  squared,  ///< r^2 / 2
  huber,    ///< r^2 / 2 where |r| <= 1, else |r| - 1/2
  cauchy,   ///< log(1 + r^2 / 2)
};
template <>
struct Choices<LossKind> {
  static constexpr Choice<LossKind> table[] = {
      {"squared", LossKind::squared}, {"huber", LossKind::huber}, {"cauchy", LossKind::cauchy}};
};

/// The [model] section of a config.
struct ModelOptions {
  std::string name = "logistic";           ///< of the model table
  double lambda = 0;                       ///< weight of the regulariser sum_j x_j^2 / (1 + x_j^2)
  std::vector<std::size_t> hidden = {64};  ///< mlp
  Activation activation = {};              ///< mlp
  std::vector<std::string> layers = {};    ///< layers: what docs/models.md has the grammar of
  ImageShape image = {};  ///< of the records of a model that takes images; the data's, no key
  /// Of a regression. Empty: the model's own (linear), or it tells classes apart (mlp).
  std::optional<LossKind> loss = {};
};

/// A row of the table that configs, `porter list models` and the docs walk.
struct ModelInfo {
  std::string name, help;
  std::size_t least_classes = 2, most_classes = 2;  ///< 0, 0: it predicts numbers only
  bool takes_loss = false;                          ///< with model.loss it predicts numbers
  bool layered = false;       ///< has hidden layers, an activation and biases of its own
  bool takes_images = false;  ///< so has this, and the shape of its records matters
  bool takes_layers = false;  ///< model.layers says which
  double lambda = 0;          ///< unless a config says otherwise
  /// The largest second derivative of a sample's loss in its scores, the products of parameters and
  /// features, along any direction; 0: no bound is known.
  double curvature = 0;
  /// `scores` is the number of classes, or of targets in a regression.
  std::unique_ptr<const Model> (*make)(const ModelOptions&, std::size_t features,
                                       std::size_t scores);

  /// One number is computed from a row for each target, or for all classes, so that a sparse one
  /// costs as little as it has entries.
  bool single_score() const { return most_classes <= 2; }
  /// Then it wants no column of ones.
  bool has_biases() const { return layered || takes_images; }
};
const std::vector<ModelInfo>& model_table();

/// Error{usage} unless each is written as a layer of model.layers.
void check_layers(const std::vector<std::string>& layers);
/// Error{usage} listing the known names.
const ModelInfo& find_model(std::string_view name);

/// The loss where a model predicts numbers: stated, or its own; nothing where it predicts classes.
std::optional<LossKind> regression_loss(const ModelOptions& options);
inline bool is_regression(const ModelOptions& options) {
  return regression_loss(options).has_value();
}

/// `classes` = 0 for regression, whose samples have `outputs` targets. Error{usage} if the model
/// does not fit the data.
std::unique_ptr<const Model> make_model(const ModelOptions& options, std::size_t features,
                                        std::size_t classes, std::size_t outputs = 1);

}  // namespace porter
