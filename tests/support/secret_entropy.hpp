// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace porter {

/// Entropy that is none: it makes a secret stream repeat itself, for tests of a distribution.
inline bool fixed_entropy(std::span<std::byte> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(37 * i + 11);
  return true;
}

}  // namespace porter
