// SPDX-License-Identifier: Apache-2.0
#include "porter/model/model.hpp"

#include <algorithm>
#include <cmath>

#include "porter/core/error.hpp"
#include "porter/core/vector_math.hpp"
#include "registry.hpp"

namespace porter {

double Model::gradient_sum(std::span<const double> x, const BatchRequest& batch,
                           std::span<double> sum, Workspace& workspace) const {
  const auto factor_of = [&](std::span<const double> gradient) {
    return batch.factor ? (*batch.factor)(std::sqrt(squared_norm(gradient))) : 1.0;
  };
  if (batch.rows.size() == 1) {
    loss(x, batch.data[batch.first_row + batch.rows[0]], sum);
    const double factor = factor_of(sum);
    if (factor == 0) std::fill(sum.begin(), sum.end(), 0.0);  // the factor alone would keep NaN
    return factor;
  }
  std::fill(sum.begin(), sum.end(), 0.0);
  auto& gradient = workspace.get<std::vector<double>>();
  gradient.resize(sum.size());
  for (const auto row : batch.rows) {
    loss(x, batch.data[batch.first_row + row], gradient);
    const double factor = factor_of(gradient);
    if (factor != 0) axpy(factor, gradient, sum);
  }
  return 1;
}

bool Model::gradient_sum_in_float(std::span<const float>, const BatchRequest&, std::span<float>,
                                  Workspace&) const {
  return false;
}

Model::Totals Model::evaluate(std::span<const double> x, const Dataset& data, std::size_t first,
                              std::size_t last, std::span<double> gradient_sum) const {
  Totals totals;
  std::vector<double> gradient(gradient_sum.size());
  for (std::size_t row = first; row < last; ++row) {
    const Sample sample = data[row];
    totals.loss += loss(x, sample, gradient);
    totals.correct += predict(x, sample) == double{sample.label};
    axpy(1.0, gradient, gradient_sum);
  }
  return totals;
}

void Model::evaluate_points(std::span<const std::span<const double>> points, const Dataset& data,
                            std::size_t first, std::size_t last, std::span<Totals> totals) const {
  for (std::size_t p = 0; p < points.size(); ++p)
    totals[p] = evaluate(points[p], data, first, last, {});
}

std::unique_ptr<const Model> make_model(const ModelOptions& options, std::size_t features,
                                        std::size_t classes) {
  require(options.lambda >= 0, ErrorKind::usage, "model.lambda: expected a number >= 0, found ",
          options.lambda);
  if (options.name == "linear") {
    require(classes == 0, ErrorKind::usage,
            "model.name = \"linear\" predicts a number, but the labels are classes");
    return make_linear(options, features);
  }
  require(classes >= 2, ErrorKind::usage, "model.name = \"", options.name,
          "\" needs at least two classes in the training data, found ", classes);
  if (options.name == "softmax") return make_softmax(options, features, classes);
  if (options.name == "mlp") return make_mlp(options, features, classes);
  require(options.name == "logistic", ErrorKind::usage,
          "model.name: expected logistic, softmax, mlp or linear, found \"", options.name, "\"");
  require(classes == 2, ErrorKind::usage,
          "model.name = \"logistic\" needs two classes, but the training data has ", classes,
          "; softmax and mlp take any number");
  return make_logistic(options, features);
}

}  // namespace porter
