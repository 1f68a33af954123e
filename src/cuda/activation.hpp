// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/exp_parts.hpp"
#include "porter/model/model.hpp"

namespace porter::cuda {

/// What Activation of the library does to one number.
template <class Real>
PORTER_DEVICE Real activated(ActivationKind kind, Real t) {
  if (kind == ActivationKind::sigmoid) return 1 / (1 + exp_of(-t));
  if (kind == ActivationKind::tanh) return tanh_of(t);
  return t <= 0 ? 0 : t;
}
/// delta times the derivative at the activation a.
template <class Real>
PORTER_DEVICE Real times_slope(ActivationKind kind, Real a, Real delta) {
  if (kind == ActivationKind::sigmoid) return delta * (a * (1 - a));
  if (kind == ActivationKind::tanh) return delta * (1 - a * a);
  return a <= 0 ? 0 : delta;
}

}  // namespace porter::cuda
