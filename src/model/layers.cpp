// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"

#include <cmath>

#include "porter/core/error.hpp"
#include "porter/core/vector_math.hpp"
#include "terms.hpp"

namespace porter {

Activation make_activation(const std::string& name) {
  if (name == "sigmoid")
    return {[](std::span<double> t) {
              for (double& value : t) value = -value;
              exp_in_place(t);
              for (double& value : t) value = 1 / (1 + value);
            },
            [](std::span<const double> a, std::span<double> delta) {
              for (std::size_t i = 0; i < a.size(); ++i) delta[i] *= a[i] * (1 - a[i]);
            }};
  if (name == "tanh")
    return {[](std::span<double> t) {
              for (double& value : t) value = std::tanh(value);
            },
            [](std::span<const double> a, std::span<double> delta) {
              for (std::size_t i = 0; i < a.size(); ++i) delta[i] *= 1 - a[i] * a[i];
            }};
  require(name == "relu", ErrorKind::usage,
          "model.activation: expected sigmoid, tanh or relu, found \"", name, "\"");
  return {[](std::span<double> t) {
            for (double& value : t) value = value > 0 ? value : 0;
          },
          [](std::span<const double> a, std::span<double> delta) {
            for (std::size_t i = 0; i < a.size(); ++i) delta[i] = a[i] > 0 ? delta[i] : 0;
          }};
}

Layers::Layers(std::size_t features, const std::vector<std::size_t>& widths, bool biased,
               const std::string& activation_name)
    : activation(make_activation(activation_name)) {
  std::size_t inputs = features;
  for (const auto outputs : widths) {
    require(outputs > 0, ErrorKind::usage, "model.hidden: a layer needs at least one unit");
    list.push_back({inputs, outputs, dim, dim + inputs * outputs, biased});
    dim += (inputs + (biased ? 1 : 0)) * outputs;
    inputs = outputs;
  }
}

void scores_to_delta(std::span<double> scores, float label) {
  softmax_in_place(scores);
  scores[static_cast<std::size_t>(label)] -= 1;
}

}  // namespace porter
