// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device.hpp"

namespace porter::cuda {

/// NoRoom that says how many agents there is room for, before anything is allocated.
inline void expect_room(const Device& device, std::size_t agents, std::size_t dim,
                        std::size_t bytes_per_agent, std::size_t data_bytes) {
  constexpr std::size_t kSmallThings = 64 << 20;  // what CUDA itself takes, weights, norms
  const std::size_t free = device.free_bytes();
  const std::size_t room = free > data_bytes + kSmallThings ? free - data_bytes - kSmallThings : 0;
  if (agents <= room / bytes_per_agent) return;
  throw NoRoom(concat(agents, " agents (network.agents) with a model of ", dim,
                      " parameters (model) take ",
                      static_cast<double>(agents * bytes_per_agent + data_bytes) / 1e9, " GB, and ",
                      device.name(), " has ", static_cast<double>(free) / 1e9,
                      " GB free: room for ", room / bytes_per_agent, " agents"));
}

}  // namespace porter::cuda
