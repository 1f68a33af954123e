// SPDX-License-Identifier: Apache-2.0
#include "mpi_transport.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>

#include "../checks.hpp"
#include "shared_window.hpp"

namespace porter {
namespace {

class MpiTransport final : public Transport {
 public:
  MpiTransport(ControlChannel& control, PendingBuffers& pending, std::uint64_t generation,
               const Hosting& hosting, std::size_t max_message)
      : control_(control),
        hosting_(hosting),
        rank_(static_cast<std::uint32_t>(control.rank())),
        max_message_(max_message),
        generation_(generation),
        receives_(pending) {
    make_communicator();
    for (auto& sends : sends_)
      for (std::size_t i = 0; i < hosting_.hosted(rank_).size(); ++i)
        sends.push_back(std::make_unique<Requests<Payload>>(pending));
    // Their pages are touched by what arrives, not by what might.
    for (std::size_t i = 0; i < hosting_.sources(rank_).size(); ++i)
      receives_.memory().push_back(std::make_unique_for_overwrite<std::byte[]>(max_message_));
  }

  ~MpiTransport() override {
    if (finished_)
      MPI_Comm_free(&comm_);
    else
      MpiTransport::abort(kEndedEarly);
  }

  void post(std::uint32_t step, std::uint32_t sender, std::span<const std::byte> bytes) override {
    require_postable(hosting_, rank_, sender, bytes.size(), max_message_);
    const std::lock_guard lock(mutex_);
    open(step);
    const auto& hosted = hosting_.hosted(rank_);
    const auto row = std::lower_bound(hosted.begin(), hosted.end(), sender) - hosted.begin();
    auto& send = *sends_[steps_ % 2][static_cast<std::size_t>(row)];
    // From two rounds ago: the neighbours' last messages say that they have got it.
    send.wait(control_);
    send.memory().assign(bytes.begin(), bytes.end());
    for (const auto target : hosting_.targets(sender)) {
      require_mpi(MPI_Isend(send.memory().data(), static_cast<int>(bytes.size()), MPI_BYTE,
                            static_cast<int>(target), static_cast<int>(sender), comm_, send.add()),
                  "MPI_Isend");
      if (auto* bell = bell_of(target)) bell->ring(steps_);
    }
  }

  std::span<const Received> collect(std::uint32_t step) override {
    const std::lock_guard lock(mutex_);
    open(step);
    const auto& sources = hosting_.sources(rank_);
    if (sleeps_) {
      auto& heard = heard_[steps_ % 2];
      heard += static_cast<std::uint32_t>(sources.size());
      bell_of(rank_)->wait(steps_, heard, [&] { control_.check(); });
    }
    const auto statuses = receives_.wait(control_);
    received_.clear();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (statuses[i].MPI_ERROR == MPI_ERR_TRUNCATE)
        fail(ErrorKind::protocol, "agent ", sources[i], " in ",
             hosting_.describe(hosting_.process_of(sources[i])), " sent more than ", max_message_,
             " bytes");
      require_mpi(statuses[i].MPI_ERROR, "MPI_Irecv");
      int count = 0;
      MPI_Get_count(&statuses[i], MPI_BYTE, &count);
      received_.push_back(
          {sources[i], {receives_.memory()[i].get(), static_cast<std::size_t>(count)}});
    }
    return received_;
  }

  void finish() override {
    for (auto& sends : sends_)
      for (auto& send : sends) send->wait(control_);
    control_.meet(comm_);
    finished_ = true;
  }

  // The first thing it does blocks, and would for ever if a rank had failed before; so meet first.
  std::shared_ptr<SharedMemory> share(std::size_t bytes) override {
    control_.meet(comm_);
    window_ = make_shared_window(hosting_, bytes);
    // MPI moves messages of other machines, and long ones, while it is polled; here are neither.
    const auto neighbours = hosting_.neighbours(rank_);
    sleeps_ = bell_of(rank_) && std::ranges::all_of(neighbours, [&](auto p) { return bell_of(p); });
    return window_;
  }

  void abort(const std::string& reason) noexcept override {
    control_.announce(generation_, gave_up_text(hosting_, rank_, reason));
  }

 private:
  // Of a rank of this machine, where ranks share memory.
  Bell* bell_of(std::uint32_t process) const {
    return window_ ? window_->bell(hosting_.hosted(process).front()) : nullptr;
  }

  // The neighbours as MPI knows them; ranks stay what they are.
  void make_communicator() {
    const auto list = hosting_.neighbours(rank_);
    const std::vector<int> ranks(list.begin(), list.end());
    const int degree = static_cast<int>(ranks.size());
    require_mpi(
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, ranks.data(), MPI_UNWEIGHTED, degree,
                                       ranks.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm_),
        "MPI_Dist_graph_create_adjacent");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }

  // The first call of a step asks for its messages. Those of one sender have its number as their
  // tag and do not overtake each other, so the n-th one is that of the n-th step.
  void open(std::uint32_t step) {
    if (steps_ > 0 && step == step_) return;
    step_ = step;
    ++steps_;
    const auto& sources = hosting_.sources(rank_);
    for (std::size_t i = 0; i < sources.size(); ++i)
      require_mpi(MPI_Irecv(receives_.memory()[i].get(), static_cast<int>(max_message_), MPI_BYTE,
                            static_cast<int>(hosting_.process_of(sources[i])),
                            static_cast<int>(sources[i]), comm_, receives_.add()),
                  "MPI_Irecv");
  }

  ControlChannel& control_;
  const Hosting hosting_;
  const std::uint32_t rank_;
  const std::size_t max_message_;
  const std::uint64_t generation_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::mutex mutex_;
  std::uint32_t step_ = 0;
  std::uint64_t steps_ = 0;
  bool finished_ = false;
  std::array<std::vector<std::unique_ptr<Requests<Payload>>>, 2> sends_;  // even, odd; per agent
  Requests<std::vector<std::unique_ptr<std::byte[]>>> receives_;
  std::vector<Received> received_;
  std::shared_ptr<SharedWindow> window_;
  bool sleeps_ = false;                          // until the neighbours have rung
  std::array<std::uint32_t, 2> heard_ = {0, 0};  // messages of even and of odd steps so far
};

// The largest tag that this MPI allows; agents are told apart by tags.
std::size_t tag_limit() {
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
  return found != 0 ? static_cast<std::size_t>(*static_cast<int*>(value)) : 32767;
}

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(ControlChannel& control, PendingBuffers& pending,
                                              std::uint64_t generation, const Hosting& hosting,
                                              std::size_t max_message) {
  require(hosting.processes() == static_cast<std::size_t>(control.size()), ErrorKind::usage,
          "the agents are hosted by ", hosting.processes(), " processes, the job has ",
          control.size(), " ranks");
  require(max_message <= std::numeric_limits<int>::max(), ErrorKind::usage,
          "MPI moves messages of less than 2 GiB; ", max_message, " bytes are asked for");
  require(hosting.agents() - 1 <= tag_limit(), ErrorKind::usage, "this MPI can tell ",
          tag_limit() + 1, " agents apart; there are ", hosting.agents());
  return std::make_unique<MpiTransport>(control, pending, generation, hosting, max_message);
}

}  // namespace porter
