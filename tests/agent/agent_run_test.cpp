// SPDX-License-Identifier: Apache-2.0
// Agents that run and restart over a wire that forgets nothing.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <set>

#include "agent_wire.hpp"
#include "porter/io/npy.hpp"
#include "sanitized.hpp"

namespace porter {
namespace {

class AgentRunAs : public AgentRunTest, public testing::WithParamInterface<const char*> {
 protected:
  const bool dense_ = says(GetParam(), "dsg");
  const std::uint32_t gossip_ = says(GetParam(), "squeeze") ? 1 : 2;
  const std::vector<std::string> set_ = {
      concat("algorithm.name=", GetParam()), concat("algorithm.gossip=", gossip_),
      concat("algorithm.compressor=", dense_ ? "identity" : "random_k:0.2"),
      "algorithm.clip=smooth:1.0", "privacy.epsilon=1"};
};

// Killed before and after every message, an agent goes on with the same bytes and no further
// charge: which methods may have one step more out than rounds released is on record, and exact.
TEST_P(AgentRunAs, KilledAtEveryMomentItSendsTheSameAndIsNotTakenForOld) {
  start_other(set_);
  for (std::uint32_t step = 1; step <= 6 * gossip_; step += kSanitized ? 5 : 1)
    for (const auto moment : {Moment::before_post, Moment::after_post, Moment::before_collect})
      ASSERT_EQ(run(dir_ / "a", set_, {.death = std::pair{moment, step}}), "killed")
          << "step " << step << '\n'
          << log_;
  EXPECT_EQ(run(dir_ / "a", set_), "finished");
  other_.join();
  EXPECT_EQ(other_ending_, "finished");
  EXPECT_EQ(ledger(dir_ / "a").charges, 6U);
}

// A whole folder from a backup knows nothing of what came later, and its files agree with each
// other. One round is enough to be refused, whether its release has left or could have.
TEST_P(AgentRunAs, AFolderOlderThanWhatNeighboursHoldIsRefused) {
  start_other(set_);
  auto with = hooks();
  with.after_round = [&](const AgentStatus& status) {
    if (status.state == "training" && !fs::exists(dir_ / concat("old-", status.round)))
      fs::copy(dir_ / "a", dir_ / concat("old-", status.round), fs::copy_options::recursive);
  };
  EXPECT_EQ(ending([&] { run_agent(options(0, set_), dir_ / "a", with); }), "finished");
  other_.join();
  const auto last = wire_->last(0);
  EXPECT_EQ(last, 6 * gossip_);
  for (std::uint32_t round = 0; round < 6; ++round) {
    const auto folder = dir_ / concat("old-", round);
    const auto before = read_raw_file(folder / "ledger" / "agent-0.ledger");
    const auto end = run(folder, set_);
    EXPECT_TRUE(says(end, "privacy: ") && says(end, "older than what was released")) << end;
    EXPECT_TRUE(says(end, "Bring back the newest folder")) << end;
    EXPECT_EQ(read_raw_file(folder / "ledger" / "agent-0.ledger"), before);
  }
  // A folder that is lost counts like an old one.
  const auto end = run(dir_ / "empty", set_);
  EXPECT_TRUE(says(end, "older than what was released")) << end;
  EXPECT_EQ(ledger(dir_ / "empty").charges, 0U);
  EXPECT_EQ(wire_->last(0), last);
}

// The first message that holds the third round's release: what was sent before it is no secret of
// the third round, and an agent that knows of two rounds may start; after it, no more.
TEST_P(AgentRunAs, TheLastMessageThatAnOldFolderMayHaveSentIsExact) {
  const bool sends_first = says("porter-dp motef-vr dp-dsgd dsgt", GetParam());
  const auto first_with_it = 2 * gossip_ + (sends_first ? 2 : 1);
  start_other(set_);
  auto with = hooks({.death = std::pair{Moment::before_post, first_with_it}});
  with.after_round = [&](const AgentStatus& status) {
    if (status.round == 2 && !fs::exists(dir_ / "old"))
      fs::copy(dir_ / "a", dir_ / "old", fs::copy_options::recursive);
  };
  EXPECT_EQ(ending([&] { run_agent(options(0, set_), dir_ / "a", with); }), "killed");
  fs::copy(dir_ / "old", dir_ / "older", fs::copy_options::recursive);
  EXPECT_EQ(run(dir_ / "old", set_, {.death = std::pair{Moment::after_post, first_with_it}}),
            "killed");
  EXPECT_TRUE(says(run(dir_ / "older", set_), "older than what was released"));
}
// One that sends before it releases, and one that sends what it releases; the others are like them.
std::vector<const char*> methods() {
  if (kSanitized) return {"porter-dp", "choco-sgd"};
  return {"porter-dp", "motef-vr", "porter-sweep", "sweep-led",
          "choco-sgd", "dp-dsgd",  "dsgt",         "deepsqueeze"};
}

INSTANTIATE_TEST_SUITE_P(Methods, AgentRunAs, testing::ValuesIn(methods()), [](const auto& test) {
  std::string name = test.param;
  std::erase(name, '-');
  return name;
});

TEST_F(AgentRunTest, ANetworkOverImagesHasTheBitsOfTheSimulation) {
  const std::vector<std::string> set = {
      "algorithm.name=porter-gc", "agent.require_noise=false", "data.image=3x41",
      "model.name=layers",
      "model.layers=[\"conv:4x3/2+1\",\"tempered:1.58:3:0.71\",\"maxpool:2/1\",\"dense:3\"]"};
  start_other(set);
  EXPECT_EQ(run(dir_ / "a", set), "finished");
  other_.join();
  EXPECT_EQ(other_ending_, "finished");
  auto alone = options(0, set).config;
  alone.run.engine = EngineKind::simulate;
  Trainer simulation(assemble(alone));
  EXPECT_EQ(train_in(dir_ / "sim", simulation), TrainStatus::finished);
  const auto expected = load_npz(dir_ / "sim" / "model.npz").at("X");
  auto found = load_npz(dir_ / "a" / "model.npz").at("X").values;
  const auto other = load_npz(dir_ / "b" / "model.npz").at("X").values;
  found.insert(found.end(), other.begin(), other.end());
  ASSERT_EQ(expected.shape[0], 2U);
  EXPECT_EQ(found, expected.values);
}

// Its checkpoint is older than what it had seen of its neighbours when it was killed. They, from a
// backup, would not be told of rounds that they have released.
TEST_F(AgentRunTest, ARestartedAgentKnowsWhatItHadSeenAfterItsCheckpoint) {
  const std::vector<std::string> set = {"run.checkpoint=every:100"};
  start_other(set);
  EXPECT_EQ(run(dir_ / "a", set, {.death = std::pair{Moment::before_collect, 5}}), "killed");
  EXPECT_EQ(run(dir_ / "a", set), "finished");
  EXPECT_EQ(wire_->claimed(0), 4U);  // its own fifth round was released
}

TEST_F(AgentRunTest, NothingIsChargedWhileANeighbourCannotBeReached) {
  const auto end = run(dir_ / "a", {}, {.unreachable = true});
  EXPECT_TRUE(says(end, "has not answered")) << end;
  EXPECT_EQ(ledger(dir_ / "a").charges, 0U);
  EXPECT_EQ(wire_->last(0), 0U);
}

TEST_F(AgentRunTest, ADamagedCheckpointIsReplacedByTheOneBeforeAndNothingIsReleasedTwice) {
  start_other();
  ASSERT_EQ(run(dir_ / "a", {}, {.death = std::pair{Moment::before_post, 6}}), "killed");
  fs::copy(dir_ / "a", dir_ / "both", fs::copy_options::recursive);
  flip(dir_ / "a" / "checkpoint" / "checkpoint.npz", 2000);
  for (const char* file : {"checkpoint.npz", "previous.npz"})
    flip(dir_ / "both" / "checkpoint" / file, 2000);
  EXPECT_TRUE(says(run(dir_ / "both"), "fails its checksum"));
  // It may be killed on the way once more, and after the next checkpoint.
  ASSERT_EQ(run(dir_ / "a", {}, {.death = std::pair{Moment::before_collect, 5}}), "killed");
  EXPECT_TRUE(says(log_, "taking the checkpoint before it, of round 2")) << log_;
  // And be damaged after a start that found it whole.
  ASSERT_EQ(run(dir_ / "a", {}, {.death = std::pair{Moment::before_collect, 6}}), "killed");
  flip(dir_ / "a" / "checkpoint" / "checkpoint.npz", 2000);
  EXPECT_EQ(run(dir_ / "a"), "finished");
  other_.join();
  EXPECT_EQ(other_ending_, "finished");
  EXPECT_EQ(ledger(dir_ / "a").charges, 6U);
}

TEST_F(AgentRunTest, WithoutItsJournalAnAgentDoesNotStart) {
  start_other();
  ASSERT_EQ(run(dir_ / "a", {}, {.death = std::pair{Moment::before_post, 2}}), "killed");
  fs::remove(dir_ / "a" / "checkpoint" / "releases");
  const auto end = run(dir_ / "a");
  EXPECT_TRUE(says(end, "privacy: ") && says(end, "releases is missing")) << end;
}

TEST_F(AgentRunTest, FilesOfAnotherAgentOrRunAreRefusedByName) {
  start_other();
  ASSERT_EQ(run(dir_ / "a", {}, {.death = std::pair{Moment::before_post, 4}}), "killed");
  wire_->give_up();
  other_.join();
  const auto refused = [&](const fs::path& foreign, const char* file, const std::string& what) {
    fs::copy(dir_ / "a", dir_ / "mixed", fs::copy_options::recursive);
    fs::copy(foreign / "checkpoint" / file, dir_ / "mixed" / "checkpoint" / file,
             fs::copy_options::overwrite_existing);
    const auto end = run(dir_ / "mixed");
    EXPECT_TRUE(says(end, "privacy: ") && says(end, file) && says(end, what)) << end;
    fs::remove_all(dir_ / "mixed");
  };
  for (const char* file : {"checkpoint.npz", "releases"})
    refused(dir_ / "b", file, "expected agent 0, found agent 1");
  wire_ = std::make_unique<Wire>();
  ASSERT_EQ(run(dir_ / "seed", {"run.seed=2"}, {.death = std::pair{Moment::before_post, 1}}),
            "killed");
  const auto mine = run_id(options(0).config), other = run_id(options(0, {"run.seed=2"}).config);
  for (const char* file : {"checkpoint.npz", "releases"})
    refused(dir_ / "seed", file, "expected run " + mine + ", found run " + other);
}

// The round may have left under the charge that is there.
TEST_F(AgentRunTest, ADamagedLastRecordIsChargedOnceMoreOrRefused) {
  const std::vector<std::string> roomy = {"privacy.calibration=sigma", "privacy.sigma=2",
                                          "privacy.epsilon=9"};
  const std::vector<std::string> tight = {};  // sigma is made for the rounds
  for (const auto& set : {roomy, tight}) {
    const auto a = dir_ / concat("a", set.size());
    Wire fresh;
    // Round 2 is recorded, and died before anything of it left.
    const auto alone = [&](const WireEnd::Plan& plan) {
      auto with = hooks();
      with.connect = [&](const Hosting& hosting, const NetworkOptions& network) {
        return std::make_unique<WireEnd>(fresh, hosting, network, plan);
      };
      return ending([&] { run_agent(options(0, set), a, with); });
    };
    std::thread other([&, with = hooks()]() mutable {
      with.connect = [&](const Hosting& hosting, const NetworkOptions& network) {
        return std::make_unique<WireEnd>(fresh, hosting, network, WireEnd::Plan{});
      };
      ending([&] { run_agent(options(1, set), dir_ / concat("b", set.size()), with); });
    });
    EXPECT_EQ(alone({.death = std::pair{Moment::before_collect, 2}}), "killed");
    EXPECT_EQ(ledger(a).charges, 2U);
    flip(a / "checkpoint" / "releases", 20);
    // Told apart from half a record, which was never sent: that one keeps its charge.
    const auto end = alone({});
    if (set.empty()) {
      EXPECT_TRUE(says(end, "privacy: ") && says(end, "record of round 2 is damaged")) << end;
      EXPECT_EQ(ledger(a).charges, 2U);
      fresh.give_up();
    } else {
      EXPECT_EQ(end, "finished");
      EXPECT_EQ(ledger(a).charges, 7U);
      const auto statement = nlohmann::json::parse(read_file(a / "privacy.json"));
      EXPECT_EQ(statement["releases"], 7);
    }
    other.join();
  }
}

// What was charged twice is not forgotten when the agent starts again, with a limit of its own.
TEST_F(AgentRunTest, TheMembersLimitCountsWhatWasChargedTwice) {
  const auto with_limit = [](double limit) {
    return std::vector<std::string>{"privacy.calibration=sigma", "privacy.sigma=2",
                                    "privacy.epsilon=9", concat("agent.max_epsilon=", limit)};
  };
  start_other(with_limit(9));
  EXPECT_EQ(run(dir_ / "a", with_limit(9), {.death = std::pair{Moment::before_collect, 2}}),
            "killed");
  flip(dir_ / "a" / "checkpoint" / "releases", 20);
  EXPECT_EQ(run(dir_ / "a", with_limit(9), {.death = std::pair{Moment::before_post, 3}}), "killed");
  const auto header = ledger(dir_ / "a").header;
  const RunPrivacy privacy(options(0, with_limit(9)).config,
                           BatchSampler(Sampler::fixed, header.records, header.batch), 10);
  const double six = privacy.interval(6)->upper, seven = privacy.interval(7)->upper;
  ASSERT_LT(six, seven);
  const auto end = run(dir_ / "a", with_limit((six + seven) / 2));
  EXPECT_TRUE(says(end, "agent.max_epsilon: this agent allows") && says(end, "after 7 releases"))
      << end;
  EXPECT_EQ(run(dir_ / "a", with_limit(9)), "finished");
}

TEST_F(AgentRunTest, TheMembersOwnWordWinsOverTheSharedConfig) {
  const auto refusal = [&](const std::vector<std::string>& set) { return run(dir_ / "a", set); };
  for (const char* name : {"beer", "dsgd", "porter-gc"}) {
    const auto end = refusal({concat("algorithm.name=", name), "algorithm.compressor=identity"});
    EXPECT_TRUE(says(end, "privacy: ") && says(end, "agent.require_noise") && says(end, name) &&
                says(end, "require_noise = false"))
        << end;
    fs::remove_all(dir_ / "a");
  }
  auto end = refusal({"privacy.noise=secure", "privacy.epsilon=8", "agent.max_epsilon=2"});
  EXPECT_TRUE(says(end, "privacy: ") && says(end, "agent.max_epsilon: this agent allows 2")) << end;
  // A delta at which any epsilon means nothing, with the word for it in the config that all share.
  for (const auto& own : std::vector<std::vector<std::string>>{
           {}, {"agent.require_noise=false", "agent.max_epsilon=2"}}) {
    fs::remove_all(dir_ / "a");
    wire_->give_up();  // who is not refused ends there
    auto set = own;
    set.insert(set.end(), {"privacy.calibration=sigma", "privacy.sigma=2", "privacy.delta=0.5",
                           "privacy.allow_large_delta=true"});
    end = refusal(set);
    EXPECT_TRUE(says(end, own.empty() ? "agent.require_noise" : "agent.max_epsilon") &&
                says(end, "privacy.delta of this config is 0.5, not below 1/m"))
        << end;
  }
  EXPECT_EQ(connections_, 0) << "nobody is met before the member has consented";
  fs::remove_all(dir_ / "a");
  for (const auto& consent : std::vector<std::vector<std::string>>{
           {"algorithm.name=beer", "agent.require_noise=false"}, {"agent.max_epsilon=2"}}) {
    wire_ = std::make_unique<Wire>();
    wire_->give_up();  // whoever gets as far as this has consented
    end = refusal(consent);
    EXPECT_TRUE(says(end, "the others gave up")) << end;
    fs::remove_all(dir_ / "a");
  }
  end = refusal({"algorithm.name=beer", "agent.require_noise=false", "agent.max_epsilon=2"});
  EXPECT_TRUE(says(end, "no certified epsilon")) << end;
}

TEST_F(AgentRunTest, WithSecretNoiseAllFilesAreTheirOwnersAlone) {
  const auto old = ::umask(0);
  start_other();
  EXPECT_EQ(run(dir_ / "a"), "finished");
  ::umask(old);
  for (const auto& entry : fs::recursive_directory_iterator(dir_ / "a")) {
    const auto mode = static_cast<unsigned>(entry.status().permissions());
    EXPECT_EQ(mode, entry.is_directory() ? 0700U : 0600U) << entry.path();
  }
  EXPECT_EQ(static_cast<unsigned>(fs::status(dir_ / "a").permissions()), 0700U);
}

TEST_F(AgentRunTest, ItsRecordNamesItsOwnDataAndNothingRaw) {
  std::string rows = "one,two,label\n";
  for (int i = 0; i < 60; ++i) rows += concat("0.", i % 7, ",0.", i % 5, ',', i % 2, '\n');
  write_file(dir_ / "own.csv", rows);
  const std::vector<std::string> set = {"agent.train=own.csv", "privacy.delta=1e-3",
                                        "data.features=2", "data.classes=[0, 1]",
                                        "model.name=logistic"};
  start_other(set);
  ASSERT_EQ(run(dir_ / "a", set), "finished");
  const auto config = load_config(dir_ / "a" / "config.toml");
  EXPECT_EQ(fs::path(config.data.train), dir_ / "own.csv");
  EXPECT_FALSE(says(read_file(dir_ / "a" / "config.toml"), "synthetic"));
  const auto summary = nlohmann::json::parse(read_file(dir_ / "a" / "summary.json"));
  EXPECT_EQ(summary["status"], "finished");
  EXPECT_EQ(summary["name"], "a");
  EXPECT_TRUE(says(summary["data"].get<std::string>(), "own.csv")) << summary["data"];
  for (const char* raw : {"majority_rate", "last", "best"}) EXPECT_TRUE(summary[raw].is_null());
  const auto metrics = read_file(dir_ / "a" / "metrics.csv");
  EXPECT_TRUE(metrics.starts_with(
      "round,bits_per_agent,link_bits_per_agent,epsilon,seconds\n0,0,0,0,0\n6,"))
      << metrics;
}

TEST_F(AgentRunTest, AStepThatIsAutoIsANumberInItsFolder) {
  const std::vector<std::string> set = {"algorithm.consensus=auto", "privacy.epsilon=1"};
  start_other(set);
  ASSERT_EQ(run(dir_ / "a", set), "finished");
  EXPECT_GT(load_config(dir_ / "a" / "config.toml").algorithm.consensus, 0);
  EXPECT_EQ(run(dir_ / "a", set), "finished") << "the folder is its own";
  // Without public bounds agents would find different steps.
  EXPECT_TRUE(says(run(dir_ / "c", {"algorithm.step=auto"}), "how many records an agent has"));
}

TEST_F(AgentRunTest, SaysThatItStartsBeforeAnythingCanFail) {
  fs::create_directories(dir_ / "a" / "checkpoint");
  write_file(dir_ / "a" / "config.toml", to_toml(options(0).config));
  write_file(dir_ / "a" / "checkpoint" / "checkpoint.npz", "no checkpoint");
  std::vector<std::string> states;
  auto with = hooks();
  with.after_round = [&](const AgentStatus& status) { states.push_back(status.state); };
  EXPECT_NE(ending([&] { run_agent(options(0), dir_ / "a", with); }), "finished");
  EXPECT_EQ(states, std::vector<std::string>{"starting"});
}

// Two files of one name need not hold the same numbers.
TEST_F(AgentRunTest, NeighboursCompareWhatTheirStartsHold) {
  const auto fact = [&](const std::string& folder, double value) {
    const auto d = assemble(options(0).config).facts.dim;
    fs::create_directories(dir_ / folder);
    save_npz(dir_ / folder / "model.npz", {{"x_mean", {{d}, std::vector<double>(d, value)}}});
    auto with = hooks();
    std::map<std::string, std::string> facts;
    with.connect = [&](const Hosting&, const NetworkOptions& network) {
      facts = network.facts;
      throw Killed();
      return std::unique_ptr<NetworkTransport>();
    };
    const auto start = "algorithm.start=model:" + (dir_ / folder / "model.npz").string();
    EXPECT_EQ(ending([&] { run_agent(options(0, {start}), dir_ / ("out-" + folder), with); }),
              "killed");
    EXPECT_EQ(facts.at("algorithm.start"), "\"model:model.npz\"");
    return facts.at("the start x0");
  };
  const auto first = fact("one", 0.5);
  EXPECT_EQ(fact("two", 0.5), first);
  EXPECT_NE(fact("three", 0.25), first);
}

}  // namespace
}  // namespace porter
