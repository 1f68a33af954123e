// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace porter {

/// Whether a round has so little work, n d b coordinates of gradients, that handing it to other
/// threads, or to a device, takes longer than doing it.
inline bool is_small_round(std::size_t agents, std::size_t dim, std::size_t batch) {
  return agents * dim * batch < 20'000;
}

}  // namespace porter
