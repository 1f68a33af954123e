// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "algo/porter_entry.hpp"
#include "core/vectors.hpp"

namespace porter {
namespace detail {

template <class Real>
PORTER_INLINE inline void update_entries(std::size_t size, Real gamma, Real eta,
                                         const Real* __restrict gap_v, const Real* __restrict gap_x,
                                         Real* __restrict u, Real* __restrict v,
                                         Real* __restrict x) {
  for (std::size_t j = 0; j < size; ++j)
    porter_entry(gamma, eta, gap_v[j], gap_x[j], u[j], v[j], x[j]);
}

}  // namespace detail

/// Lines 12 and 14 of Algorithm 1 in one pass over a tile:
///
///   U <- U + gamma gap_v            gap_v = Q_v (W - I)
///   V <- U + G                      that is  V + gamma gap_v + G - G_prev,  since U = V - G_prev
///   X <- X + gamma gap_x - eta V    gap_x = Q_x (W - I)
///
/// `v` holds G before and V after. With U there is no G_prev to keep, and the rounding error of a
/// running sum of gradient differences is gone. NaN and infinities go their way, as signed zeros
/// do, and the next message is refused.
template <class Real>
void porter_update(std::size_t size, Real gamma, Real eta, const Real* gap_v, const Real* gap_x,
                   Real* u, Real* v, Real* x) {
  with_vectors([=]<Width>() PORTER_INLINE {
    detail::update_entries(size, gamma, eta, gap_v, gap_x, u, v, x);
  });
}

}  // namespace porter
