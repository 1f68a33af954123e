// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/exp_parts.hpp"
#include "porter/model/model.hpp"

namespace porter::cuda {

/// What `activate` of the library does to one number.
template <class Real>
PORTER_DEVICE Real activated(const Activation& activation, Real t) {
  const auto kind = activation.kind;
  if (kind == ActivationKind::sigmoid) return 1 / (1 + exp_of(-t));
  if (kind == ActivationKind::tanh) return tanh_of(t);
  if (kind == ActivationKind::tempered)
    return static_cast<Real>(activation.scale) /
               (1 + exp_of(-static_cast<Real>(activation.rate) * t)) -
           static_cast<Real>(activation.offset);
  return t <= 0 ? 0 : t;
}
/// delta times the derivative at the activation a.
template <class Real>
PORTER_DEVICE Real times_slope(const Activation& activation, Real a, Real delta) {
  const auto kind = activation.kind;
  if (kind == ActivationKind::sigmoid) return delta * (a * (1 - a));
  if (kind == ActivationKind::tanh) return delta * (1 - a * a);
  if (kind == ActivationKind::tempered) {
    const auto scale = static_cast<Real>(activation.scale);
    const Real b = a + static_cast<Real>(activation.offset);
    return delta * (static_cast<Real>(activation.rate) / scale * (b * (scale - b)));
  }
  return a <= 0 ? 0 : delta;
}

}  // namespace porter::cuda
