// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "control.hpp"

namespace porter {

/// Memory that MPI may still touch after an error; it lives until MPI has ended.
using PendingBuffers = std::vector<std::shared_ptr<void>>;

/// Requests of MPI with the memory they work on. Where an error keeps them from being waited for,
/// they are left alone (sends and collective calls cannot be cancelled) and the memory is kept.
template <class Memory>
class Requests {
 public:
  explicit Requests(PendingBuffers& pending) : pending_(pending) {}
  ~Requests() {
    if (!requests_.empty()) pending_.push_back(memory_);
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  Memory& memory() { return *memory_; }
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  /// Polls until all are done. The statuses are those of the requests in the order of add();
  /// MPI_ERROR is set where one failed.
  std::vector<MPI_Status> wait(ControlChannel& control) {
    std::vector<MPI_Status> statuses(requests_.size());
    if (requests_.empty()) return statuses;
    int code = MPI_SUCCESS;
    control.wait_until([&] {
      int done = 0;
      code =
          MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses.data());
      return done != 0 || code != MPI_SUCCESS;
    });
    if (code != MPI_ERR_IN_STATUS) {
      require_mpi(code, "MPI_Testall");
      for (auto& status : statuses) status.MPI_ERROR = MPI_SUCCESS;
      requests_.clear();
    }
    return statuses;
  }

 private:
  PendingBuffers& pending_;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  std::vector<MPI_Request> requests_;
};

std::unique_ptr<Transport> make_mpi_transport(ControlChannel& control, PendingBuffers& pending,
                                              std::uint64_t generation, const Hosting& hosting,
                                              std::size_t max_message);

}  // namespace porter
