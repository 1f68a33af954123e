// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device.hpp"

namespace porter {

/// Lines 12 and 14 of Algorithm 1 at one coordinate (porter_update.hpp); v is G before and V after.
template <class Real>
PORTER_DEVICE PORTER_INLINE inline void porter_entry(Real gamma, Real eta, Real gap_v, Real gap_x,
                                                     Real& u, Real& v, Real& x) {
  u += gamma * gap_v;
  v = u + v;
  x += gamma * gap_x - eta * v;
}

}  // namespace porter
