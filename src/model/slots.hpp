// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace porter {

/// Numbered pieces of memory that only grow.
template <class Real>
class BasicSlots {
 public:
  /// `count` numbers of any content, valid until the same slot is asked for more.
  std::span<Real> take(std::size_t slot, std::size_t count) {
    if (slot >= slots_.size()) slots_.resize(slot + 1);
    if (slots_[slot].size() < count) slots_[slot].resize(count);
    return std::span(slots_[slot]).first(count);
  }

 private:
  std::vector<std::vector<Real>> slots_;
};
using Slots = BasicSlots<double>;

}  // namespace porter
