// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "porter/core/rows.hpp"
#include "porter/graph/mixing.hpp"

namespace porter {

/// What is mixed next: the same stretch of other rows, or another one. Its lines are asked for
/// while sums are made, so that memory has work meanwhile. No rows: nothing.
template <class Real>
struct Ahead {
  std::span<const Real* const> Q = {};
  std::size_t first = 0;
};

/// Row i of `out`, for every receiver i: the coordinates [first, first + size) of
///   sum over (s, w) in incoming[i] of  w Q_s
/// in the order of the senders, each product rounded, NaN and infinities as in plain loops; sums
/// begin with 0.0, so none is -0.0. Q[s] is where the row of s starts, a line; it can be read up to
/// the end of its last line. Row i starts at out[i * whole_lines(size)]; what follows its `size`
/// values in the last line is of no use. `first` is the start of a line.
template <class Real>
void mix_rows(std::span<const std::vector<MixingWeight>> incoming, std::span<const Real* const> Q,
              std::size_t first, std::size_t size, std::span<Real> out,
              const Ahead<Real>& ahead = {});

}  // namespace porter
