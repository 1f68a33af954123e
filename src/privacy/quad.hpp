// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>

namespace porter {

/// IEEE 754 binary128: 113 significant bits, + - * / rounded exactly.
#if LDBL_MANT_DIG == 113
using Quad = long double;
#else
__extension__ typedef __float128 Quad;
#endif
__extension__ typedef unsigned __int128 Uint128;

/// exp(-t) for 0 <= t <= 0.5 by `terms` terms of its series. The first term left out is below
/// 2^-67 for 16 terms and below 2^-155 for 32.
template <class Real>
Real exp_minus_series(Real t, int terms) {
  Real sum = 1;
  for (int k = terms; k >= 1; --k) sum = 1 - t * sum / static_cast<Real>(k);
  return sum;
}

/// exp(-t) for 0 <= t < 100: eight halvings of t, then eight squarings, which multiply the relative
/// error of 2^-111 by 2^8; the rounding of t itself adds 100 times 2^-113. Below 2^-102 in all.
inline Quad exp_minus(Quad t) {
  Quad value = exp_minus_series(t / 256, 32);
  for (int i = 0; i < 8; ++i) value *= value;
  return value;
}

}  // namespace porter
