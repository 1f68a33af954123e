// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace porter {

/// The smallest x in [low, high] for which `holds`, to the last bit, where it is false and then
/// true; `high` when it never is. The answer is always one for which it holds, or `high`.
template <class Predicate>
double smallest_with(double low, double high, const Predicate& holds) {
  if (holds(low)) return low;
  while (true) {
    const double middle = low + (high - low) / 2;
    if (!(low < middle && middle < high)) return high;
    (holds(middle) ? high : low) = middle;
  }
}

}  // namespace porter
