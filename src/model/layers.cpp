// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"

#include <algorithm>

#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "terms.hpp"

namespace porter {

namespace {

template <class Real>
void sigmoid(std::span<Real> t) {
  for (Real& value : t) value = -value;
  exp_in_place(t);
  for (Real& value : t) value = 1 / (1 + value);
}

template <class Real>
void tempered_sigmoid(const Activation& activation, std::span<Real> t) {
  const auto scale = static_cast<Real>(activation.scale), rate = static_cast<Real>(activation.rate),
             offset = static_cast<Real>(activation.offset);
  for (Real& value : t) value = -rate * value;
  exp_in_place(t);
  for (Real& value : t) value = scale / (1 + value) - offset;
}

// With b = a + offset, which is scale * sigmoid(rate * t), it is rate / scale * b (scale - b).
template <class Real>
void multiply_by_tempered_slope(const Activation& activation, std::span<const Real> a,
                                std::span<Real> delta) {
  const auto scale = static_cast<Real>(activation.scale),
             offset = static_cast<Real>(activation.offset);
  const Real steepness = static_cast<Real>(activation.rate) / scale;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Real b = a[i] + offset;
    delta[i] *= steepness * (b * (scale - b));
  }
}

template <class Real>
void multiply_all(const Activation& activation, std::span<const Real> a, std::span<Real> delta) {
  switch (activation.kind) {
    case ActivationKind::sigmoid:
      for (std::size_t i = 0; i < a.size(); ++i) delta[i] *= a[i] * (1 - a[i]);
      return;
    case ActivationKind::tanh:
      for (std::size_t i = 0; i < a.size(); ++i) delta[i] *= 1 - a[i] * a[i];
      return;
    case ActivationKind::relu:
      for (std::size_t i = 0; i < a.size(); ++i) delta[i] = a[i] <= 0 ? 0 : delta[i];
      return;
    case ActivationKind::tempered:
      multiply_by_tempered_slope(activation, a, delta);
  }
}

template <class Real>
void activate_all(const Activation& activation, std::span<Real> t) {
  switch (activation.kind) {
    case ActivationKind::sigmoid:
      return sigmoid(t);
    case ActivationKind::tanh:
      return tanh_in_place(t);
    case ActivationKind::relu:
      for (Real& value : t) value = value <= 0 ? 0 : value;  // NaN stays: divergence must show
      return;
    case ActivationKind::tempered:
      tempered_sigmoid(activation, t);
  }
}

}  // namespace

void activate(const Activation& activation, std::span<double> t) { activate_all(activation, t); }
void activate(const Activation& activation, std::span<float> t) { activate_all(activation, t); }

void multiply_by_slope(const Activation& activation, std::span<const double> a,
                       std::span<double> delta) {
  multiply_all(activation, a, delta);
}
void multiply_by_slope(const Activation& activation, std::span<const float> a,
                       std::span<float> delta) {
  multiply_all(activation, a, delta);
}

Layers::Layers(std::size_t features, const std::vector<std::size_t>& widths, bool biased,
               const Activation& hidden)
    : activation(hidden) {
  std::size_t inputs = features;
  for (const auto outputs : widths) {
    require(outputs > 0, ErrorKind::usage, "model.hidden: a layer needs at least one unit");
    require(outputs <= kMaxParameters && (inputs + 1) * outputs <= kMaxParameters - dim,
            ErrorKind::usage, "model.hidden: expected at most ", kMaxParameters,
            " parameters; a layer of ", inputs, " inputs and ", outputs, " outputs leads beyond");
    list.push_back({inputs, outputs, dim, dim + inputs * outputs, biased});
    dim += (inputs + (biased ? 1 : 0)) * outputs;
    inputs = outputs;
  }
}

void scores_to_delta(std::span<double> scores, float label) {
  softmax_in_place(scores);
  scores[static_cast<std::size_t>(label)] -= 1;
}

// The label's entry is p - 1, whose digits cancel where p is near 1: it is minus the sum of the
// other entries, taken in double.
void scores_to_delta(std::span<float> scores, float label) {
  const float top = *std::max_element(scores.begin(), scores.end());
  for (float& s : scores) s -= top;
  exp_in_place(scores);
  double sum = 0;
  for (const float s : scores) sum += double{s};
  float& of_label = scores[static_cast<std::size_t>(label)];
  const double others = sum - double{of_label};
  for (float& s : scores) s = static_cast<float>(double{s} / sum);
  of_label = static_cast<float>(-others / sum);
}

}  // namespace porter
