// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device.hpp"
#include "porter/model/model.hpp"

namespace porter {

/// phi' of residuals.hpp.
PORTER_DEVICE inline double residual_slope(LossKind kind, double r) {
  switch (kind) {
    case LossKind::squared:
      return r;
    case LossKind::huber:
      return r > 1 ? 1 : r < -1 ? -1 : r;
    case LossKind::cauchy:
      break;
  }
  return r / (1 + r * r / 2);
}

}  // namespace porter
