// SPDX-License-Identifier: Apache-2.0
#include "shared_window.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "control.hpp"
#include "porter/core/rows.hpp"

namespace porter {
namespace {

// The agents of the ranks of a communicator, ascending.
std::vector<std::uint32_t> agents_of(MPI_Comm machine, const Hosting& hosting) {
  int size = 0, rank = 0;
  MPI_Comm_size(machine, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  require_mpi(MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, machine), "MPI_Allgather");
  std::vector<std::uint32_t> agents;
  for (const int r : ranks) {
    const auto& hosted = hosting.hosted(static_cast<std::size_t>(r));
    agents.insert(agents.end(), hosted.begin(), hosted.end());
  }
  std::ranges::sort(agents);
  return agents;
}

bool all_say(MPI_Comm machine, bool yes) {
  int all = yes ? 1 : 0;
  require_mpi(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, machine), "MPI_Allreduce");
  return all != 0;
}

}  // namespace

std::shared_ptr<SharedWindow> make_shared_window(const Hosting& hosting, std::size_t bytes) {
  MPI_Comm machine = MPI_COMM_NULL;
  require_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine),
              "MPI_Comm_split_type");
  MPI_Comm_set_errhandler(machine, MPI_ERRORS_RETURN);
  const auto agents = agents_of(machine, hosting);
  int rank = 0, size = 0;
  MPI_Comm_rank(machine, &rank);
  MPI_Comm_size(machine, &size);
  // One rank asks for all: then the parts lie one behind the other, as the rows of a matrix do.
  const auto whole = rank == 0 ? agents.size() * (kLineBytes + bytes) + kLineBytes : 0;
  MPI_Win window = MPI_WIN_NULL;
  void* start = nullptr;
  const bool made = MPI_Win_allocate_shared(static_cast<MPI_Aint>(whole), 1, MPI_INFO_NULL, machine,
                                            static_cast<void*>(&start), &window) == MPI_SUCCESS;
  if (!all_say(machine, made) || size == 1) return nullptr;
  MPI_Aint found = 0;
  int unit = 0;
  require_mpi(MPI_Win_shared_query(window, 0, &found, &unit, static_cast<void*>(&start)),
              "MPI_Win_shared_query");
  require_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), "MPI_Win_lock_all");
  auto* at = static_cast<std::byte*>(start);
  at += -std::bit_cast<std::uintptr_t>(at) % kLineBytes;
  static_assert(sizeof(Bell) <= kLineBytes);
  std::map<std::uint32_t, SharedWindow::Part> parts;
  for (const auto agent : agents) {
    // Each rank makes the same of bytes that nobody has written to.
    parts[agent].bell = rank == 0 ? std::construct_at(reinterpret_cast<Bell*>(at))
                                  : std::launder(reinterpret_cast<Bell*>(at));
    at += kLineBytes;
  }
  all_say(machine, true);  // the bells are there
  for (const auto agent : agents) {
    parts[agent].bytes = {at, bytes};
    at += bytes;
  }
  return std::make_shared<SharedWindow>(window, std::move(parts));
}

}  // namespace porter
