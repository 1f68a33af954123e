// SPDX-License-Identifier: Apache-2.0
// Two agents over a wire that forgets nothing.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "agent/agent_data.hpp"
#include "comm/tls.hpp"
#include "io/file.hpp"
#include "porter/agent/agent.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/ledger.hpp"
#include "says.hpp"
#include "temp_dir.hpp"
#include "train/accountant_cache.hpp"

namespace porter {

namespace fs = std::filesystem;

/// Where a process dies.
struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};
enum class Moment { before_post, after_post, before_collect };

/// What lies between the agents of a test: all that was ever posted, which the neighbours hold.
class Wire {
 public:
  void post(std::uint32_t agent, std::uint32_t step, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    const Payload copy(bytes.begin(), bytes.end());
    const auto [known, is_new] = posted_[agent].try_emplace(step, copy);
    EXPECT_TRUE(is_new || known->second == copy)
        << "agent " << agent << " sends another step " << step;
    news_.notify_all();
  }
  /// The bytes stay where they are.
  std::vector<Received> collect(std::uint32_t step, const std::vector<std::uint32_t>& sources) {
    std::unique_lock lock(mutex_);
    const auto all_there = [&] {
      return std::ranges::all_of(sources, [&](auto a) { return posted_[a].contains(step); });
    };
    news_.wait(lock, [&] { return over_ || all_there(); });
    if (!all_there()) throw Error(ErrorKind::network, "the others gave up");
    std::vector<Received> received;
    for (const auto a : sources) received.push_back({a, posted_[a][step]});
    return received;
  }
  std::uint32_t last(std::uint32_t agent) {
    const std::lock_guard lock(mutex_);
    return posted_[agent].empty() ? 0 : posted_[agent].rbegin()->first;
  }
  /// The agent says that it will not ask for these steps again.
  void forget(std::uint32_t agent, std::uint32_t step) {
    const std::lock_guard lock(mutex_);
    forgotten_[agent] = std::max(forgotten_[agent], step);
  }
  std::uint32_t forgotten(std::uint32_t agent) {
    const std::lock_guard lock(mutex_);
    return forgotten_[agent];
  }
  /// What an agent had collected before, and says that it had.
  void collected(std::uint32_t agent, std::uint32_t step) {
    const std::lock_guard lock(mutex_);
    collected_[agent] = std::max(collected_[agent], step);
  }
  void claim(std::uint32_t agent, std::uint32_t seen) {
    const std::lock_guard lock(mutex_);
    EXPECT_LE(seen, collected_[agent]);
    claimed_[agent] = seen;
  }
  std::uint32_t claimed(std::uint32_t agent) {
    const std::lock_guard lock(mutex_);
    return claimed_[agent];
  }
  /// What an agent shows to a neighbour, and nobody else sees.
  void show(std::uint32_t agent, std::uint32_t to, const KeyExchange::Key& key) {
    const std::lock_guard lock(mutex_);
    keys_[{agent, to}] = key;
    news_.notify_all();
  }
  KeyExchange::Key key_of(std::uint32_t agent, std::uint32_t to) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return over_ || keys_.contains({agent, to}); });
    if (!keys_.contains({agent, to})) throw Error(ErrorKind::network, "the others gave up");
    return keys_[{agent, to}];
  }
  void give_up() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    news_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::map<std::uint32_t, std::map<std::uint32_t, Payload>> posted_;
  std::map<std::uint32_t, std::uint32_t> forgotten_, collected_, claimed_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, KeyExchange::Key> keys_;
  bool over_ = false;
};

class WireEnd final : public NetworkTransport {
 public:
  struct Plan {
    std::optional<std::pair<Moment, std::uint32_t>> death = {};  // when, and at which step
    bool unreachable = false;                                    // the neighbours
  };
  WireEnd(Wire& wire, const Hosting& hosting, const NetworkOptions& options, const Plan& plan)
      : wire_(wire),
        sources_(hosting.sources(options.process)),
        plan_(plan),
        process_(options.process),
        keys_(options.keys),
        neighbours_(hosting.neighbours(options.process)) {
    wire_.forget(process_, options.resume_after);
    wire_.claim(process_, options.seen);
    if (keys_)
      for (const auto neighbour : neighbours_)
        wire_.show(process_, neighbour, keys_->own(neighbour));
  }

  std::uint32_t meet() override {
    require(!plan_.unreachable, ErrorKind::network, "the neighbour has not answered");
    if (keys_)
      for (const auto neighbour : neighbours_)
        keys_->take(neighbour, wire_.key_of(neighbour, process_));
    return wire_.last(process_);
  }
  void post(std::uint32_t round, std::uint32_t sender, std::span<const std::byte> bytes) override {
    die(Moment::before_post, round);
    wire_.post(sender, round, bytes);
    die(Moment::after_post, round);
  }
  std::span<const Received> collect(std::uint32_t round) override {
    die(Moment::before_collect, round);
    EXPECT_GT(round, wire_.forgotten(process_)) << "it said that this was safe";
    received_ = wire_.collect(round, sources_);
    wire_.collected(process_, round);
    return received_;
  }
  void settle(std::uint32_t round) override { wire_.forget(process_, round); }
  void abandon() override {}
  void finish() override {}
  void abort(const std::string&) noexcept override {}

 private:
  void die(Moment moment, std::uint32_t step) const {
    if (plan_.death == std::pair{moment, step}) throw Killed();
  }
  Wire& wire_;
  std::vector<std::uint32_t> sources_;
  Plan plan_;
  std::uint32_t process_;
  KeyExchange* keys_;
  std::vector<std::uint32_t> neighbours_;
  std::vector<Received> received_;
};

inline std::string ending(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return concat(error.kind() == ErrorKind::privacy ? "privacy: " : "other: ", error.what());
  } catch (const Killed&) {
    return "killed";
  }
  return "finished";
}

inline const std::string kRun = R"(
[network]
agents = 2
graph = "complete"
mixing = "metropolis"
[algorithm]
rounds = 6
batch = 4
compressor = "random_k:0.2"
[run]
checkpoint = "every:2"
evaluate = "end"
)";

// What the agent would load and compute of its privacy, once: it starts again and again. Its files
// are not looked at again.
inline Sources its_data(const AgentOptions& options) {
  static std::mutex mutex;
  static std::map<std::string, RunData> known;
  static const auto accounts = std::make_shared<AccountantCache>();
  const std::lock_guard lock(mutex);
  auto& data = known[concat(options.index, to_toml(options.config))];
  if (!data.train) data = own_data(options);
  return {.data = data, .accounts = accounts};
}

// Two agents, a wire between them, and a folder for each.
class AgentRunTest : public testing::Test {
 protected:
  AgentRunTest() {
    init_authority(dir_ / "keys", "test", {.days = 2});
    for (const char* name : {"a", "b"}) issue_certificate(dir_ / "keys", name, {.days = 1});
  }

  AgentOptions options(std::uint32_t agent, const std::vector<std::string>& overrides = {},
                       bool insecure = false) const {
    const std::string name = agent == 0 ? "a" : "b";
    write_file(dir_ / (name + ".toml"), kRun + "[agent]\nname = \"" + name + R"("
listen = "127.0.0.1:1"
ca = "keys/ca.crt"
certificate = "keys/)" + name + ".crt\"\nkey = \"keys/" +
                                            name + R"(.key"
peers = [{name = "a", address = "x:1"}, {name = "b", address = "x:2"}]
)");
    return load_agent_options(dir_ / (name + ".toml"), overrides, insecure);
  }

  AgentHooks hooks(const WireEnd::Plan& plan = {}) {
    AgentHooks hooks;
    hooks.connect = [this, plan](const Hosting& hosting, const NetworkOptions& network) {
      ++connections_;
      return std::make_unique<WireEnd>(*wire_, hosting, network, plan);
    };
    hooks.log = [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      log_ += text + '\n';
    };
    return hooks;
  }

  // How agent 0 ends in this folder.
  std::string run(const fs::path& folder, const std::vector<std::string>& overrides = {},
                  const WireEnd::Plan& plan = {}) {
    return ending([&] {
      const auto set = options(0, overrides);
      run_agent(set, folder, hooks(plan), its_data(set));
    });
  }

  void start_other(const std::vector<std::string>& overrides = {}) {
    other_ = std::thread([this, set = options(1, overrides), with = hooks()] {
      other_ending_ = ending([&] { run_agent(set, dir_ / "b", with, its_data(set)); });
    });
  }
  ~AgentRunTest() override {
    wire_->give_up();
    if (other_.joinable()) other_.join();
  }

  static LedgerView ledger(const fs::path& folder) {
    return read_ledger(folder / "ledger" / "agent-0.ledger");
  }

  TempDir dir_;
  std::unique_ptr<Wire> wire_ = std::make_unique<Wire>();
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::string log_, other_ending_;
  std::thread other_;
};

inline void flip(const fs::path& file, std::size_t from_end) {
  auto bytes = read_raw_file(file);
  bytes[bytes.size() - from_end] = static_cast<char>(bytes[bytes.size() - from_end] ^ 4);
  write_file(file, bytes);
}

}  // namespace porter
