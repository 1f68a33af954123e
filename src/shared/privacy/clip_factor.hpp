// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device.hpp"
#include "porter/privacy/clip.hpp"

namespace porter {

/// Clip::factor, for both.
PORTER_DEVICE inline double clip_factor(Clip::Kind kind, double tau, double norm) {
  // The computed norm of d numbers is off by at most about d / 2 units of rounding, which stays
  // below this for d up to 1e6. Beyond, a clipped vector may be longer than tau by what is left;
  // the sensitivity of the secure noise has it.
  constexpr double kNormSlack = 1e-10;
  if (kind == Clip::Kind::none) return 1;
  if (!(norm - norm == 0)) return 0;             // not finite
  const double bound = norm * (1 + kNormSlack);  // no shorter than the true norm
  if (kind == Clip::Kind::smooth) return tau / (tau + bound);
  return bound <= tau ? 1 : tau / bound;
}

}  // namespace porter
