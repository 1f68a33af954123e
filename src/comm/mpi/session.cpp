// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <limits>
#include <numeric>

#include "mpi_transport.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::chrono::seconds kGrace{5};  // for the other ranks to end after an error

class Session final : public MpiSession {
 public:
  explicit Session(MpiOptions options) {
    initialise();
    control_ = std::make_unique<ControlChannel>(std::move(options));
    require_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  }

  ~Session() override {
    const bool failing = std::uncaught_exceptions() > exceptions_;
    if (failing)
      control_->announce(ControlChannel::kEverything,
                         concat("rank ", rank(), " ended by an error"));
    const bool all_here = meet(failing);
    control_->stop_listening();
    if (all_here) MPI_Finalize();
  }

  std::uint32_t rank() const override { return static_cast<std::uint32_t>(control_->rank()); }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(control_->size()); }

  std::unique_ptr<Transport> make_transport(const Hosting& hosting,
                                            std::size_t max_message) override {
    const auto generation = control_->next_generation();
    // Making a communicator blocks, and would for ever if a rank failed before; so meet first.
    control_->meet(comm_);
    return make_mpi_transport(*control_, pending_, generation, hosting, max_message);
  }

  Rows gather_rows(const Hosting& hosting, const Rows& hosted) override {
    const auto& own = hosting.hosted(rank());
    require(hosted.agents() == own.size(), ErrorKind::usage, "gather_rows: ", hosted.agents(),
            " rows for ", hosting.describe(rank()));
    Requests<Rows> rows(pending_);
    if (rank() != 0) {
      rows.memory() = hosted;
      for (std::size_t i = 0; i < own.size(); ++i)
        require_mpi(MPI_Isend(rows.memory().row(i).data(), static_cast<int>(hosted.dim()),
                              MPI_DOUBLE, 0, static_cast<int>(own[i]), comm_, rows.add()),
                    "MPI_Isend");
      check_all(rows.wait(*control_));
      return {};
    }
    rows.memory() = Rows(hosting.agents(), hosted.dim());
    for (std::size_t i = 0; i < own.size(); ++i)
      std::ranges::copy(hosted.row(i), rows.memory().row(own[i]).begin());
    for (std::uint32_t agent = 0; agent < hosting.agents(); ++agent)
      if (hosting.process_of(agent) != 0)
        require_mpi(MPI_Irecv(rows.memory().row(agent).data(), static_cast<int>(hosted.dim()),
                              MPI_DOUBLE, static_cast<int>(hosting.process_of(agent)),
                              static_cast<int>(agent), comm_, rows.add()),
                    "MPI_Irecv");
    check_all(rows.wait(*control_));
    return std::move(rows.memory());
  }

  std::vector<Payload> all_gather(std::span<const std::byte> bytes) override {
    const auto sizes = all_sizes(bytes.size());
    struct Buffers {
      Payload given, taken;
      std::vector<int> counts, offsets;
    };
    Requests<Buffers> gather(pending_);
    auto& [given, taken, counts, offsets] = gather.memory();
    const auto total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    require(total <= std::numeric_limits<int>::max(), ErrorKind::usage,
            "all_gather: the ranks give ", total, " bytes together; the limit is 2 GiB");
    given.assign(bytes.begin(), bytes.end());
    taken.resize(total);
    counts.assign(sizes.begin(), sizes.end());
    offsets.resize(sizes.size());
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
    require_mpi(
        MPI_Iallgatherv(given.data(), static_cast<int>(given.size()), MPI_BYTE, taken.data(),
                        counts.data(), offsets.data(), MPI_BYTE, comm_, gather.add()),
        "MPI_Iallgatherv");
    check_all(gather.wait(*control_));
    std::vector<Payload> parts;
    for (std::size_t r = 0; r < counts.size(); ++r)
      parts.emplace_back(taken.begin() + offsets[r], taken.begin() + offsets[r] + counts[r]);
    return parts;
  }

 private:
  static void initialise() {
    int done = 0, provided = 0;
    MPI_Initialized(&done);
    require(done == 0, ErrorKind::usage, "there is one MPI session per program");
    require_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided),
                "MPI_Init_thread");
    require(provided == MPI_THREAD_MULTIPLE, ErrorKind::usage,
            "this MPI library cannot be used from several threads (MPI_THREAD_MULTIPLE)");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }

  static void check_all(const std::vector<MPI_Status>& statuses) {
    for (const auto& status : statuses) require_mpi(status.MPI_ERROR, "MPI");
  }

  std::vector<std::uint64_t> all_sizes(std::uint64_t size) {
    struct Buffers {
      std::uint64_t own;
      std::vector<std::uint64_t> all;
    };
    Requests<Buffers> gather(pending_);
    gather.memory() = {size, std::vector<std::uint64_t>(this->size())};
    require_mpi(MPI_Iallgather(&gather.memory().own, 1, MPI_UINT64_T, gather.memory().all.data(), 1,
                               MPI_UINT64_T, comm_, gather.add()),
                "MPI_Iallgather");
    check_all(gather.wait(*control_));
    return gather.memory().all;
  }

  // Waits for all ranks to come to their end; whether they did. The signs of life go on meanwhile.
  bool meet(bool failing) {
    MPI_Request barrier = MPI_REQUEST_NULL;
    if (MPI_Ibarrier(MPI_COMM_WORLD, &barrier) != MPI_SUCCESS) return false;
    const auto start = std::chrono::steady_clock::now();
    for (Pause pause; !is_complete(barrier); pause())
      if (failing && std::chrono::steady_clock::now() - start > kGrace) return false;
    return true;
  }

  const int exceptions_ = std::uncaught_exceptions();
  PendingBuffers pending_;
  std::unique_ptr<ControlChannel> control_;
  MPI_Comm comm_ = MPI_COMM_NULL;  // of the calls below; waits on it are polled
};

}  // namespace

std::unique_ptr<MpiSession> make_mpi_session(MpiOptions options) {
  return std::make_unique<Session>(std::move(options));
}

}  // namespace porter
