// SPDX-License-Identifier: Apache-2.0
#include "control.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include "porter/core/error.hpp"

namespace porter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{20};  // how soon news is seen

}  // namespace

void require_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(ErrorKind::network, call, " failed: ", std::string(text, static_cast<std::size_t>(length)));
}

bool is_complete(MPI_Request& request) {
  int done = 1;
  if (request != MPI_REQUEST_NULL) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

ControlChannel::ControlChannel(MpiOptions options) : options_(std::move(options)) {
  require_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  learn_hosts();
  if (size_ > 1) thread_ = std::thread([this] { listen(); });
}

ControlChannel::~ControlChannel() { stop_listening(); }

void ControlChannel::stop_listening() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t ControlChannel::next_generation() {
  const std::lock_guard lock(mutex_);
  return ++generation_;
}

void ControlChannel::announce(std::uint64_t generation, const std::string& text) noexcept {
  const std::lock_guard lock(mutex_);
  if (news_.generation >= std::min(generation, std::max<std::uint64_t>(generation_, 1))) return;
  news_ = {.generation = generation};
  std::strncpy(news_.text, text.c_str(), sizeof news_.text - 1);
  has_news_ = true;
  const auto& sent = *outbox_.emplace_back(std::make_unique<Notice>(news_));
  for (int r = 0; r < size_; ++r) {
    MPI_Request request;
    if (r != rank_ && MPI_Isend(&sent, sizeof sent, MPI_BYTE, r, 0, comm_, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
  }
}

void ControlChannel::check() {
  if (!has_news_) return;
  const std::lock_guard lock(mutex_);
  require(news_.generation < std::max<std::uint64_t>(generation_, 1), ErrorKind::network,
          static_cast<const char*>(news_.text));
}

void ControlChannel::meet(MPI_Comm comm) {
  MPI_Request barrier = MPI_REQUEST_NULL;
  require_mpi(MPI_Ibarrier(comm, &barrier), "MPI_Ibarrier");
  wait_until([&] { return is_complete(barrier); });
}

void ControlChannel::learn_hosts() {
  constexpr int kLength = MPI_MAX_PROCESSOR_NAME;
  std::array<char, kLength> own{};
  int length = 0;
  MPI_Get_processor_name(own.data(), &length);
  std::vector<char> all(static_cast<std::size_t>(size_) * kLength);
  require_mpi(MPI_Allgather(own.data(), kLength, MPI_CHAR, all.data(), kLength, MPI_CHAR, comm_),
              "MPI_Allgather");
  for (int r = 0; r < size_; ++r)
    hosts_.emplace_back(all.data() + static_cast<std::ptrdiff_t>(r) * kLength);
}

void ControlChannel::listen() {
  const Clock::duration between_signs = options_.watchdog / 8;
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  MPI_Irecv(&incoming_, sizeof incoming_, MPI_BYTE, MPI_ANY_SOURCE, 0, comm_, &receive);
  Clock::duration silence{0}, since_sign = between_signs;
  auto then = Clock::now();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    if (take_notices(receive)) silence = Clock::duration{0};
    if (since_sign >= between_signs && is_complete(send)) {
      MPI_Isend(&sign_, sizeof sign_, MPI_BYTE, after(), 0, comm_, &send);
      since_sign = Clock::duration{0};
    }
    if (silence > options_.watchdog) end_job();
    lock.lock();
    wake_.wait_for(lock, kTick, [&] { return stopping_; });
    // A step is short, unless this rank or its whole machine was stopped: time in which nobody
    // could give or hear a sign does not count.
    const auto now = Clock::now();
    const auto step = std::min<Clock::duration>(now - then, 10 * kTick);
    then = now;
    silence += step;
    since_sign += step;
  }
  lock.unlock();
  MPI_Cancel(&receive);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
}

// Whether there was anything from the rank before us.
bool ControlChannel::take_notices(MPI_Request& receive) {
  bool alive = false;
  int done = 0;
  MPI_Status status;
  while (MPI_Test(&receive, &done, &status) == MPI_SUCCESS && done != 0) {
    alive |= status.MPI_SOURCE == before();
    if (incoming_.generation > 0) {
      const std::lock_guard lock(mutex_);
      if (incoming_.generation > news_.generation) news_ = incoming_;
      has_news_ = true;
    }
    MPI_Irecv(&incoming_, sizeof incoming_, MPI_BYTE, MPI_ANY_SOURCE, 0, comm_, &receive);
  }
  return alive;
}

void ControlChannel::end_job() {
  const double seconds = std::chrono::duration<double>(options_.watchdog).count();
  if (options_.report)
    options_.report(concat("rank ", before(), " on ", hosts_[static_cast<std::size_t>(before())],
                           " has given no sign of life for ", seconds,
                           " s: it is stopped or its machine hangs; the job is ended"));
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::terminate();  // MPI_Abort does not return
}

}  // namespace porter
