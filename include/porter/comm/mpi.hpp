// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "porter/comm/transport.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/rows.hpp"

namespace porter {

struct MpiOptions {
  /// A rank that gives no sign of life for so long ends the job. Being slow is fine: a thread of
  /// each rank gives the signs.
  std::chrono::milliseconds watchdog{60'000};
  /// Told which rank was silent, from the watchdog's thread, just before the job is ended.
  std::function<void(const std::string&)> report;
};

/// This process as a rank of an MPI job, from MPI_Init to MPI_Finalize: one object per program,
/// made where it is known that the engine is MPI. Calls are collective (all ranks make the same
/// ones in the same order), come from one thread, and throw Error{network} when another rank gave
/// up. If it is destroyed while an exception is on its way, the other ranks are told; those that
/// have not ended within five seconds are left to mpirun, which ends them.
class MpiSession {
 public:
  virtual ~MpiSession() = default;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t size() const = 0;

  /// Process p of the hosting is rank p. One at a time; it must not outlive the session.
  virtual std::unique_ptr<Transport> make_transport(const Hosting& hosting,
                                                    std::size_t max_message) = 0;
  /// `hosted` has a row per hosted agent, ascending. Rank 0 gets the rows of all agents, in the
  /// order of agents; the others get no rows.
  virtual Rows gather_rows(const Hosting& hosting, const Rows& hosted) = 0;
  /// Every rank gets what each rank gave, in the order of ranks.
  virtual std::vector<Payload> all_gather(std::span<const std::byte> bytes) = 0;
};

/// Error{usage} in a build without MPI.
std::unique_ptr<MpiSession> make_mpi_session(MpiOptions options);

}  // namespace porter
