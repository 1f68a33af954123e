// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <map>
#include <memory>

#include "bell.hpp"
#include "porter/comm/transport.hpp"

namespace porter {

/// A window is given back when MPI ends: before, all ranks would have to come together for that,
/// and after an error they do not.
class SharedWindow final : public SharedMemory {
 public:
  struct Part {
    std::span<std::byte> bytes = {};
    Bell* bell = nullptr;
  };
  SharedWindow(MPI_Win window, std::map<std::uint32_t, Part> parts)
      : window_(window), parts_(std::move(parts)) {}

  std::span<std::byte> part(std::uint32_t agent) override { return found(agent).bytes; }
  void sync() override { MPI_Win_sync(window_); }
  /// One for each agent, null if it is on another machine.
  Bell* bell(std::uint32_t agent) const { return found(agent).bell; }

 private:
  Part found(std::uint32_t agent) const {
    const auto at = parts_.find(agent);
    return at == parts_.end() ? Part{} : at->second;
  }

  MPI_Win window_;
  std::map<std::uint32_t, Part> parts_;  // by agent
};

/// Memory of the ranks of one machine, `bytes` for each of their agents. All ranks call it; it
/// blocks until they have. Nothing if there is no room for it, or for a rank alone on its machine.
std::shared_ptr<SharedWindow> make_shared_window(const Hosting& hosting, std::size_t bytes);

}  // namespace porter
