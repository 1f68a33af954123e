// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "comm/exchange.hpp"
#include "porter/core/rows.hpp"

namespace porter {

/// The Q of agents whose processes share memory: one for all of them, moved by its own agent. It
/// has two places, for even and for odd steps. Who moves its Q in step t writes over that of t - 2:
/// all who read it have posted step t - 1, since their messages were collected, and had done with
/// t - 2 before. So nobody waits for readers.
template <class Real>
class SharedRows {
 public:
  SharedRows(std::shared_ptr<SharedMemory> memory, std::size_t dim)
      : memory_(std::move(memory)), dim_(dim) {}

  /// The memory of an agent, an odd number of lines: the same coordinates of different agents lie
  /// in different places of a cache (see BasicRows), as long as what follows is even.
  static std::size_t bytes(std::size_t channels, std::size_t dim) {
    return (2 * channels * whole_lines<Real>(dim) * sizeof(Real)) | kLineBytes;
  }

  bool holds(std::size_t agent) const { return !part(agent).empty(); }
  std::span<Real> row(std::size_t channel, std::size_t agent, std::uint32_t step) const {
    auto* rows = reinterpret_cast<Real*>(part(agent).data());
    return {rows + (2 * channel + step % 2) * whole_lines<Real>(dim_), dim_};
  }
  void sync() { memory_->sync(); }

 private:
  std::span<std::byte> part(std::size_t agent) const {
    return memory_->part(static_cast<std::uint32_t>(agent));
  }

  std::shared_ptr<SharedMemory> memory_;
  std::size_t dim_;
};

}  // namespace porter
