// SPDX-License-Identifier: Apache-2.0
#include "porter/model/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/registry.hpp"
#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "registry.hpp"

namespace porter {
namespace {

constexpr LossKind kOwnLoss = LossKind::cauchy;  // of a model that predicts numbers only

double squared_error(const Model& model, std::span<const double> x, const Sample& sample,
                     std::span<double> predictions) {
  model.predict_targets(x, sample, predictions);
  double sum = 0;
  for (std::size_t o = 0; o < predictions.size(); ++o) {
    const double r = predictions[o] - double{sample.targets[o]};
    sum += r * r;
  }
  return sum;
}

}  // namespace

void Model::predict_targets(std::span<const double> x, const Sample& sample,
                            std::span<double> predictions) const {
  require(predictions.size() == 1, ErrorKind::usage, "the model predicts one number, but a sample ",
          "has ", predictions.size(), " targets");
  predictions[0] = predict(x, sample);
}

void Model::probabilities(std::span<const double> x, const Sample& sample,
                          std::span<double> out) const {
  std::fill(out.begin(), out.end(), 0.0);
  out[static_cast<std::size_t>(predict(x, sample))] = 1;
}

double Model::gradient_sum(std::span<const double> x, const BatchRequest& batch,
                           std::span<double> sum, Workspace& workspace) const {
  const auto factor_of = [&](std::size_t i, std::span<const double> gradient) {
    return batch.factor_of(i, batch.factor ? std::sqrt(squared_norm(gradient)) : 0);
  };
  if (batch.rows.size() == 1) {
    loss(x, batch.data[batch.first_row + batch.rows[0]], sum);
    const double factor = factor_of(0, sum);
    if (factor == 0) std::fill(sum.begin(), sum.end(), 0.0);  // the factor alone would keep NaN
    return factor;
  }
  std::fill(sum.begin(), sum.end(), 0.0);
  auto& gradient = workspace.get<std::vector<double>>();
  gradient.resize(sum.size());
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    loss(x, batch.data[batch.first_row + batch.rows[i]], gradient);
    const double factor = factor_of(i, gradient);
    if (factor != 0) axpy(factor, gradient, sum);
  }
  return 1;
}

void Model::gradient_sums(std::span<const AgentBatch> agents) const {
  Workspace workspace;
  for (const auto& [x, batch, sum] : agents) scale(gradient_sum(x, batch, sum, workspace), sum);
}

std::optional<double> Model::sample_gradient(std::span<const float>, const BatchRequest&,
                                             OuterProducts&, Workspace&) const {
  return std::nullopt;
}

std::optional<double> Model::sample_gradient(std::span<const double>, const BatchRequest&,
                                             OuterProducts&, Workspace&) const {
  return std::nullopt;
}

bool Model::sample_gradients(std::span<const AgentBatch>, std::span<double>) const { return false; }

bool Model::gradient_sum_in_float(std::span<const float>, const BatchRequest&, std::span<float>,
                                  Workspace&) const {
  return false;
}

Model::Totals Model::evaluate(std::span<const double> x, const Dataset& data, std::size_t first,
                              std::size_t last, std::span<double> gradient_sum) const {
  Totals totals;
  std::vector<double> gradient(gradient_sum.size()), predictions(data.outputs);
  for (std::size_t row = first; row < last; ++row) {
    const Sample sample = data[row];
    totals.loss += weighted_loss(*this, x, sample, gradient);
    if (data.classes.empty())
      totals.squared_error += data.weight(row) * squared_error(*this, x, sample, predictions);
    else if (predict(x, sample) == double{sample.label})
      totals.correct += data.weight(row);
    axpy(1.0, gradient, gradient_sum);
  }
  return totals;
}

void Model::evaluate_points(std::span<const std::span<const double>> points, const Dataset& data,
                            std::size_t first, std::size_t last, std::span<Totals> totals) const {
  for (std::size_t p = 0; p < points.size(); ++p)
    totals[p] = evaluate(points[p], data, first, last, {});
}

double weighted_loss(const Model& model, std::span<const double> x, const Sample& sample,
                     std::span<double> gradient) {
  const double loss = model.loss(x, sample, gradient);
  if (sample.weight == 1) return loss;
  scale(double{sample.weight}, gradient);
  return double{sample.weight} * loss;
}

const std::vector<ModelInfo>& model_table() {
  constexpr auto kAny = std::numeric_limits<std::size_t>::max();
  static const std::vector<ModelInfo> table = {
      {.name = "logistic",
       .help = "logistic regression for two classes, one weight per feature",
       .lambda = 0.2,
       .curvature = 0.25,
       .make = make_logistic},
      {.name = "softmax",
       .help = "softmax regression for any number of classes",
       .most_classes = kAny,
       .curvature = 0.5,
       .make = make_softmax},
      {.name = "mlp",
       .help = "perceptron with hidden layers (model.hidden, model.activation); with model.loss a "
               "regression",
       .most_classes = kAny,
       .takes_loss = true,
       .layered = true,
       .make = make_mlp},
      {.name = "layers",
       .help =
           "network over images: convolutions, pools, group norms, dense layers (model.layers); "
           "with model.loss a regression",
       .most_classes = kAny,
       .takes_loss = true,
       .takes_images = true,
       .takes_layers = true,
       .make = make_image_model},
      {.name = "cnn",
       .help = "the convolutional network that private training of MNIST is measured with, 26,010 "
               "parameters there; with model.loss a regression",
       .most_classes = kAny,
       .takes_loss = true,
       .takes_images = true,
       .make = make_image_model},
      {.name = "linear",
       .help = "linear regression, by default with the Cauchy loss log(1 + r^2 / 2) (model.loss)",
       .least_classes = 0,
       .most_classes = 0,
       .takes_loss = true,
       .curvature = 1,
       .make = make_linear},
  };
  return table;
}

const ModelInfo& find_model(std::string_view name) { return find_named(model_table(), name); }

std::optional<LossKind> regression_loss(const ModelOptions& options) {
  const auto& info = find_model(options.name);
  if (info.takes_loss && options.loss) return options.loss;
  return info.most_classes == 0 ? std::optional(kOwnLoss) : std::nullopt;
}

std::unique_ptr<const Model> make_model(const ModelOptions& options, std::size_t features,
                                        std::size_t classes, std::size_t outputs) {
  const auto& info = find_model(options.name);
  require(options.lambda >= 0, ErrorKind::usage, "model.lambda: expected a number >= 0, found ",
          options.lambda);
  require(info.takes_loss || !options.loss, ErrorKind::usage, "model.loss: model.name = \"",
          info.name, "\" predicts classes and has no loss to choose");
  if (is_regression(options)) {
    require(classes == 0, ErrorKind::usage, "model.name = \"", info.name,
            options.loss ? "\" with model.loss" : "\"",
            " predicts a number, but the labels are classes");
    return info.make(options, features, outputs);
  }
  require(outputs == 1, ErrorKind::usage, "model.name = \"", info.name,
          "\" predicts one class, but the samples have ", outputs, " targets");
  require(classes >= info.least_classes, ErrorKind::usage, "model.name = \"", info.name,
          "\" needs at least two classes in the training data, found ", classes);
  require(classes <= info.most_classes, ErrorKind::usage, "model.name = \"", info.name,
          "\" needs two classes, but the training data has ", classes,
          "; softmax, mlp, layers and cnn take any number");
  return info.make(options, features, classes);
}

}  // namespace porter
