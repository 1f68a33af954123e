// SPDX-License-Identifier: Apache-2.0
#include "in_process.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "comm/checks.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rows.hpp"

namespace porter {
namespace {

// What all ends share. One lock: this transport is for tests, not for speed.
struct Hub {
  explicit Hub(const Hosting& who)
      : hosting(who), inbox(who.processes()), finished(who.processes(), false) {}

  using Round = std::map<std::uint32_t, std::shared_ptr<const Payload>>;  // by sender

  const Hosting hosting;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::map<std::uint32_t, Round>> inbox;  // per process, by round
  std::vector<bool> finished;
  std::optional<std::string> aborted;  // who and why
  std::shared_ptr<SharedMemory> memory;
};

// The lock of the hub orders what is written and read, as messages do.
class Shared final : public SharedMemory {
 public:
  Shared(std::size_t agents, std::size_t bytes)
      : parts_(agents, bytes / sizeof(double)), bytes_(bytes) {}
  std::span<std::byte> part(std::uint32_t agent) override {
    return std::as_writable_bytes(parts_.row(agent)).first(bytes_);
  }
  void sync() override {}

 private:
  Rows parts_;
  std::size_t bytes_;
};

class InProcess final : public Transport {
 public:
  InProcess(std::shared_ptr<Hub> hub, std::uint32_t process, std::size_t max_message,
            Machines machines)
      : hub_(std::move(hub)), process_(process), max_message_(max_message), machines_(machines) {}

  ~InProcess() override {
    const std::lock_guard lock(hub_->mutex);
    if (!hub_->finished[process_]) give_up(kEndedEarly);
  }

  void post(std::uint32_t round, std::uint32_t sender, std::span<const std::byte> bytes) override {
    require_postable(hub_->hosting, process_, sender, bytes.size(), max_message_);
    const auto message = std::make_shared<const Payload>(bytes.begin(), bytes.end());
    const std::lock_guard lock(hub_->mutex);
    for (const auto target : hub_->hosting.targets(sender))
      hub_->inbox[target][round][sender] = message;
    hub_->changed.notify_all();
  }

  std::span<const Received> collect(std::uint32_t round) override {
    const auto& sources = hub_->hosting.sources(process_);
    std::unique_lock lock(hub_->mutex);
    auto& messages = hub_->inbox[process_][round];
    wait(lock, [&] { return messages.size() == sources.size(); });
    held_ = std::move(messages);
    hub_->inbox[process_].erase(round);
    received_.clear();
    for (const auto& [sender, bytes] : held_) received_.push_back({sender, *bytes});
    return received_;
  }

  void finish() override {
    std::unique_lock lock(hub_->mutex);
    hub_->finished[process_] = true;
    hub_->changed.notify_all();
    wait(lock, [&] {
      return std::ranges::all_of(hub_->hosting.neighbours(process_),
                                 [&](auto p) { return hub_->finished[p]; });
    });
  }

  std::shared_ptr<SharedMemory> share(std::size_t bytes) override {
    if (machines_ == Machines::one_each) return nullptr;
    const std::lock_guard lock(hub_->mutex);
    if (!hub_->memory) hub_->memory = std::make_shared<Shared>(hub_->hosting.agents(), bytes);
    return hub_->memory;
  }

  void abort(const std::string& reason) noexcept override {
    const std::lock_guard lock(hub_->mutex);
    give_up(reason);
  }

 private:
  void give_up(const std::string& reason) {
    if (!hub_->aborted) hub_->aborted = gave_up_text(hub_->hosting, process_, reason);
    hub_->changed.notify_all();
  }

  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
    hub_->changed.wait(lock, [&] { return hub_->aborted || ready(); });
    require(!hub_->aborted, ErrorKind::network, hub_->aborted.value_or(""));
  }

  const std::shared_ptr<Hub> hub_;
  const std::uint32_t process_;
  const std::size_t max_message_;
  const Machines machines_;
  Hub::Round held_;  // what received_ points into
  std::vector<Received> received_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_in_process_transports(const Hosting& hosting,
                                                                   std::size_t max_message,
                                                                   Machines machines) {
  const auto hub = std::make_shared<Hub>(hosting);
  std::vector<std::unique_ptr<Transport>> ends;
  for (std::uint32_t p = 0; p < hosting.processes(); ++p)
    ends.push_back(std::make_unique<InProcess>(hub, p, max_message, machines));
  return ends;
}

}  // namespace porter
