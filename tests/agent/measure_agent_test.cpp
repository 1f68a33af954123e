// SPDX-License-Identifier: Apache-2.0
// Agents that measure what their schema leaves open, then train; killed where it hurts.
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "comm/tls.hpp"
#include "measured_table.hpp"
#include "porter/agent/agent.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/ledger.hpp"
#include "says.hpp"
#include "train/measure.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

struct KilledAgent : std::runtime_error {
  KilledAgent() : std::runtime_error("killed") {}
};

/// All that was ever posted, by stage, agent and step. Whoever posts other bytes than before has
/// released something twice.
class StagedWire {
 public:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

  void post(const Key& key, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    const Payload copy(bytes.begin(), bytes.end());
    const auto [known, is_new] = posted_.try_emplace(key, copy);
    EXPECT_TRUE(is_new || known->second == copy) << "another message of agent " << std::get<1>(key);
    news_.notify_all();
  }
  std::vector<Received> collect(std::uint32_t stage, std::uint32_t step,
                                const std::vector<std::uint32_t>& sources) {
    std::unique_lock lock(mutex_);
    const auto all = [&] {
      return std::ranges::all_of(sources, [&](auto a) {
        return posted_.contains({stage, a, step});
      });
    };
    news_.wait(lock, [&] { return over_ || all(); });
    if (!all()) throw Error(ErrorKind::network, "the others gave up");
    std::vector<Received> received;
    for (const auto a : sources) received.push_back({a, posted_[{stage, a, step}]});
    return received;
  }
  std::uint32_t last(std::uint32_t stage, std::uint32_t agent) {
    const std::lock_guard lock(mutex_);
    std::uint32_t step = 0;
    for (const auto& [key, bytes] : posted_)
      if (std::get<0>(key) == stage && std::get<1>(key) == agent) step = std::get<2>(key);
    return step;
  }
  void give_up() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    news_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::map<Key, Payload> posted_;
  bool over_ = false;
};

using Death = std::pair<std::uint32_t, std::uint32_t>;  // a stage, and after which message of it

class StagedEnd final : public NetworkTransport {
 public:
  StagedEnd(StagedWire& wire, const Hosting& hosting, const NetworkOptions& options,
            std::optional<Death> death)
      : wire_(wire),
        sources_(hosting.sources(options.process)),
        process_(options.process),
        stage_(options.stage),
        death_(death) {}
  std::uint32_t meet() override { return wire_.last(stage_, process_); }
  void post(std::uint32_t step, std::uint32_t sender, std::span<const std::byte> bytes) override {
    wire_.post({stage_, sender, step}, bytes);
    if (death_ == Death{stage_, step}) throw KilledAgent();
  }
  std::span<const Received> collect(std::uint32_t step) override {
    return received_ = wire_.collect(stage_, step, sources_);
  }
  void settle(std::uint32_t) override {}
  void abandon() override {}
  void finish() override {}
  void abort(const std::string&) noexcept override {}

 private:
  StagedWire& wire_;
  std::vector<std::uint32_t> sources_;
  std::uint32_t process_, stage_;
  std::optional<Death> death_;
  std::vector<Received> received_;
};

class MeasuringAgents : public testing::Test {
 protected:
  MeasuringAgents() : table_(dir_.path(), 4000) {
    init_authority(dir_ / "keys", "test", {.days = 2});
    for (int i = 0; i < 4; ++i) issue_certificate(dir_ / "keys", concat("a", i), {.days = 1});
  }
  ~MeasuringAgents() override { wire_.give_up(); }

  AgentOptions options(std::uint32_t agent, bool insecure) const {
    std::string peers;
    for (int i = 0; i < 4; ++i)
      peers += concat(i ? ", " : "", "{name = \"a", i, "\", address = \"x:", 1 + i, "\"}");
    const auto file = dir_ / concat("a", agent, ".toml");
    write_file(file, measuring_run("[privacy]\nepsilon = 8\nstatistics = 0.3\n") +
                         concat("[agent]\nname = \"a", agent, "\"\nlisten = \"127.0.0.1:1\"\n",
                                "ca = \"keys/ca.crt\"\ncertificate = \"keys/a", agent,
                                ".crt\"\nkey = \"keys/a", agent, ".key\"\npeers = [", peers, "]\n",
                                own_files_ ? concat("train = \"own-", agent, ".csv\"\n") : ""));
    return load_agent_options(file, {}, insecure);
  }
  fs::path folder(std::uint32_t agent) const { return dir_ / concat("out-", agent); }

  std::string run(std::uint32_t agent, bool insecure, std::optional<Death> death = {}) {
    AgentHooks hooks;
    hooks.connect = [this, death](const Hosting& hosting, const NetworkOptions& network) {
      return std::make_unique<StagedEnd>(wire_, hosting, network, death);
    };
    try {
      run_agent(options(agent, insecure), folder(agent), hooks);
      return "finished";
    } catch (const KilledAgent&) {
      return "killed";
    } catch (const Error& error) {
      wire_.give_up();
      return error.what();
    }
  }

  // Agent 0 dies after each of these and is started again; the others just run.
  void run_all(bool insecure, const std::vector<Death>& deaths = {}) {
    std::vector<std::thread> threads;
    std::vector<std::string> ends(4);
    for (std::uint32_t i = 1; i < 4; ++i)
      threads.emplace_back([&, i] { ends[i] = run(i, insecure); });
    for (const auto& death : deaths) EXPECT_EQ(run(0, insecure, death), "killed");
    ends[0] = run(0, insecure);
    for (auto& thread : threads) thread.join();
    for (const auto& end : ends) EXPECT_EQ(end, "finished");
  }

  TempDir dir_;
  MeasuredTable table_;
  StagedWire wire_;
  bool own_files_ = false;
};

TEST_F(MeasuringAgents, HaveTheSchemaOfASimulationByteForByte) {
  run_all(true);
  const auto complete = with_complete_schema(options(0, true).config);
  for (std::uint32_t i = 0; i < 4; ++i)
    EXPECT_EQ(read_file(folder(i) / "schema.toml"), to_toml(*complete.data.schema));
}

TEST_F(MeasuringAgents, KilledAtAnyMomentReleaseNothingTwiceAndPayForAll) {
  run_all(false, {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}, {3, 1}, {3, 4}});
  const auto schema = read_file(folder(0) / "schema.toml");
  for (std::uint32_t i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(read_file(folder(i) / "schema.toml"), schema);
    const auto name = fs::path("ledger") / concat("agent-", i, ".ledger");
    for (const char* part : {"ranges.measured", "moments.measured"})
      EXPECT_EQ(read_ledger(folder(i) / part / name).charges, 1U);
    const auto view = read_ledger(folder(i) / name);
    EXPECT_EQ(view.charges, 2U + 5U);
    ASSERT_EQ(view.phases.size(), 2U);
    EXPECT_EQ(view.phases[0].batch, 1000U);
    EXPECT_EQ(view.phases[0].charges, 2U);
    std::vector<PrivacyEvent> events;
    for (const auto& phase : view.phases)
      events.push_back(BatchSampler(Sampler::fixed, 1000, phase.batch)
                           .secure_event(Adjacency::replace, phase.noise_stddev, view.header.clip,
                                         phase.charges));
    const auto statement = *load_statement(folder(i) / "privacy.json");
    ASSERT_TRUE(statement.guaranteed);
    EXPECT_EQ(privacy::epsilon(events, secure_delta(1e-5)).upper, statement.epsilon->upper);
    EXPECT_LE(statement.epsilon->upper, 8);
    EXPECT_TRUE(has_finished(options(i, false).config, folder(i), i));
  }
  std::vector<fs::path> folders;
  for (std::uint32_t i = 0; i < 4; ++i) folders.push_back(folder(i));
  collect_agents(options(0, false).config, folders, dir_ / "all");
  EXPECT_EQ(read_file(dir_ / "all" / "schema.toml"), schema);
  EXPECT_EQ(load_statement(dir_ / "all" / "privacy.json")->epsilon->upper,
            load_statement(folder(0) / "privacy.json")->epsilon->upper);
}

// Their means are weighted by their numbers of records, and their noise is made for them.
TEST_F(MeasuringAgents, MayHaveDifferentNumbersOfRecords) {
  const auto text = read_file(dir_ / "t.csv");
  auto rest = std::string_view(text).substr(text.find('\n') + 1);
  const auto header = text.substr(0, text.find('\n') + 1);
  const std::vector<std::size_t> records = {400, 1900, 600, 1100};
  for (std::size_t i = 0; i < 4; ++i) {
    std::size_t end = 0;
    for (std::size_t line = 0; line < records[i]; ++line) end = rest.find('\n', end) + 1;
    write_file(dir_ / concat("own-", i, ".csv"), header + std::string(rest.substr(0, end)));
    rest = rest.substr(end);
  }
  own_files_ = true;
  run_all(false);
  const auto schema = load_schema(folder(0) / "schema.toml");
  EXPECT_NEAR(schema.columns[0].mean, MeasuredTable::mean(table_.ages), 4);
  EXPECT_NEAR(schema.columns[1].mean, MeasuredTable::mean(table_.incomes), 300);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(read_file(folder(i) / "schema.toml"), to_toml(schema));
    const auto view = read_ledger(folder(i) / "ledger" / concat("agent-", i, ".ledger"));
    EXPECT_EQ(view.phases[0].batch, records[i]);
    EXPECT_NEAR(view.phases[0].noise_stddev * static_cast<double>(records[i]),
                read_ledger(folder(0) / "ledger" / "agent-0.ledger").phases[0].noise_stddev * 400,
                1e-9);
  }
}

TEST_F(MeasuringAgents, DoNotMeasureWithoutConsentToTheWhole) {
  auto mine = options(0, false);
  mine.max_epsilon = 7;  // the measurement alone would be far below
  AgentHooks hooks;
  hooks.connect = [](const Hosting&, const NetworkOptions&) -> std::unique_ptr<NetworkTransport> {
    throw std::runtime_error("it calls its neighbours");
  };
  try {
    run_agent(mine, folder(0), hooks);
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(says(error.what(), "this agent allows 7")) << error.what();
  }
  EXPECT_FALSE(fs::exists(folder(0) / "ranges.measured" / "ledger"));
}

}  // namespace
}  // namespace porter
