// SPDX-License-Identifier: Apache-2.0
// Agents that share secret noise with their neighbours: what their files hold, and what restarts
// do.
#include <cmath>
#include <nlohmann/json.hpp>

#include "agent/pair_keys.hpp"
#include "agent_wire.hpp"
#include "porter/train/train.hpp"
#include "privacy/secure_noise.hpp"
#include "sanitized.hpp"

namespace porter {
namespace {

const FileOwner kLow{"0123456789abcdef0123456789abcdef", 0}, kHigh{kLow.run, 1};
const std::vector<std::string> kNames = {"a", "b", "c"};

PairsView read_pairs(const fs::path& file) {
  const auto content = read_raw_file(file);
  return decode_pairs(std::as_bytes(std::span(content)), file.string());
}

void meet(PairKeys& low, PairKeys& high) {
  low.take(1, high.own(0));
  high.take(0, low.own(1));
  low.settle();
  high.settle();
}

std::vector<double> steps(PairKeys& keys, std::uint32_t agent, std::uint32_t round) {
  static const SecureNoise kNoise(0.5, 0.5, 40, {.stddev = 1, .most_pairs = 1, .vectors = 3});
  std::vector<double> out(40, 0.0);
  keys.add(agent, round, kNoise, out);
  return out;
}

void expect_opposite(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i], -b[i]);
    largest = std::max(largest, std::abs(a[i]));
  }
  EXPECT_GT(largest, 0);
}

TEST(PairKeys, ARestartAtAnyMomentLeavesBothEndsWithTheSameSteps) {
  const TempDir dir;
  PairKeys high(dir / "high", kHigh, kNames, {0});
  const auto low = [&] { return PairKeys(dir / "low", kLow, kNames, {1}); };
  {
    auto first = low();
    high.take(0, first.own(1));  // the other end has an answer, and this one dies without
  }
  auto second = low();
  meet(second, high);
  expect_opposite(steps(second, 0, 1), steps(high, 1, 1));
  expect_opposite(steps(second, 0, 2), steps(high, 1, 2));
  second.forget(2);
  steps(second, 0, 3);  // was not released, or the journal would know it
  auto third = low();
  third.take(1, high.own(0));  // greets anew, with the keys that it had
  EXPECT_TRUE(says(what_fails([&] { steps(third, 0, 2); }), "round 2 was drawn before"));
  expect_opposite(steps(third, 0, 3), steps(high, 1, 3));
  EXPECT_TRUE(says(what_fails([&] { steps(third, 0, 3); }), "round 3 was drawn before"));
}

TEST(PairKeys, NothingSecretIsLeftInTheFileThatIsNotNeeded) {
  const TempDir dir;
  PairKeys low(dir / "low", kLow, kNames, {1}), high(dir / "high", kHigh, kNames, {0});
  const auto key_in_file = [&] {
    auto view = read_pairs(dir / "low");
    auto& record = view.records.at(0);
    const auto& key =
        record.state == PairRecord::State::greeting ? record.private_key : record.chain.key();
    return std::vector(key.bytes().begin(), key.bytes().end());
  };
  const auto holds = [&](const fs::path& file, const std::vector<std::byte>& key) {
    return says(read_raw_file(file),
                std::string(reinterpret_cast<const char*>(key.data()), key.size()));
  };
  const auto private_key = key_in_file();
  fs::create_hard_link(dir / "low", dir / "old");  // as a disk keeps what had another name
  EXPECT_TRUE(holds(dir / "old", private_key));
  meet(low, high);
  EXPECT_FALSE(holds(dir / "old", private_key) || holds(dir / "low", private_key));
  const auto first = key_in_file();
  low.forget(4);
  EXPECT_EQ(read_pairs(dir / "low").records.at(0).chain.round(), 5U);
  EXPECT_FALSE(holds(dir / "low", first));
  const auto fifth = key_in_file();
  low.spend();
  EXPECT_FALSE(holds(dir / "low", fifth));
  EXPECT_EQ(key_in_file(), std::vector<std::byte>(32));
  EXPECT_TRUE(says(what_fails([&] { steps(low, 0, 5); }), "no secret with b"));
  EXPECT_EQ(PairKeys(dir / "low", kLow, kNames, {1}).own(1), low.own(1));  // neighbours compare it
  low.remove();
  EXPECT_FALSE(fs::exists(dir / "low"));
}

TEST(PairKeys, RefusesAnotherKeyAWeakOneAndNone) {
  const TempDir dir;
  PairKeys low(dir / "low", kLow, kNames, {1}), high(dir / "high", kHigh, kNames, {0});
  PairKeys stranger(dir / "new", kHigh, kNames, {0});
  EXPECT_TRUE(says(what_fails([&] { low.settle(); }), "b has given no key"));
  EXPECT_TRUE(says(what_fails([&] { steps(low, 0, 1); }), "no secret with b"));
  EXPECT_TRUE(says(what_fails([&] { low.take(1, {}); }), "the key of b makes no secret"));
  EXPECT_TRUE(says(what_fails([&] { low.take(1, low.own(1)); }), "b shows the key of a"));
  EXPECT_TRUE(says(what_fails([&] { low.take(2, high.own(0)); }), "agent 2 shares no noise"));
  meet(low, high);
  EXPECT_TRUE(
      says(what_fails([&] { low.take(1, stranger.own(0)); }), "b shows another key than before"));
  low.take(1, high.own(0));  // the right one may come back
  EXPECT_TRUE(says(what_fails([&] { steps(low, 1, 1); }), "of agent 0, not of agent 1"));
}

TEST(PairKeys, FilesThatAreNotTheirsAreRefusedByName) {
  const TempDir dir;
  { PairKeys made(dir / "low", kLow, kNames, {1}); }
  const auto refused = [&](const FileOwner& owner, const std::vector<std::uint32_t>& neighbours) {
    return what_fails([&] { PairKeys(dir / "low", owner, kNames, neighbours); });
  };
  EXPECT_TRUE(says(refused(kHigh, {0}), "expected agent 1, found agent 0"));
  EXPECT_TRUE(says(refused({std::string(32, 'f'), 0}, {1}), "another run"));
  EXPECT_TRUE(says(refused(kLow, {1, 2}), "other pairs than those of a"));
  auto bytes = read_raw_file(dir / "low");
  const auto damage = [&](std::size_t size) {
    const auto cut = std::as_bytes(std::span(bytes)).first(size);
    return what_fails([&] { decode_pairs(cut, "low"); });
  };
  EXPECT_EQ(damage(bytes.size()), "none");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    EXPECT_TRUE(says(damage(at), "low: ")) << at;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    EXPECT_TRUE(says(damage(bytes.size()), "low: ")) << at;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
  }
  write_file(dir / "low", bytes.substr(0, 40));
  EXPECT_TRUE(says(refused(kLow, {1}), "not a file of secrets"));
}

class PairAgents : public AgentRunTest {
 protected:
  const std::vector<std::string> set_ = {
      "algorithm.name=dp-dsgd", "algorithm.compressor=identity", "algorithm.clip=smooth:1.0",
      "privacy.epsilon=1",      "privacy.shape=pairwise",        "privacy.colluders=0",
      "privacy.pair_ratio=1024"};

  int count_ = 0;
  fs::path pairs(const char* agent) const { return dir_ / agent / "checkpoint" / "pairs"; }
  // What was released since the checkpoint before the last.
  std::map<std::uint32_t, std::vector<double>> released(const char* agent) const {
    const auto content = read_raw_file(dir_ / agent / "checkpoint" / "releases.previous");
    return decode_journal(std::as_bytes(std::span(content)), agent).rounds;
  }
  static nlohmann::json statement(const fs::path& folder) {
    return nlohmann::json::parse(read_file(folder / "privacy.json"));
  }
};

double norm(const std::vector<double>& x) {
  double square = 0;
  for (const double value : x) square += value * value;
  return std::sqrt(square);
}

// The wire holds an agent that is killed to the bytes it has sent before.
TEST_F(PairAgents, KilledAtEveryMomentReleaseTheSameAndTheirNoiseCancels) {
  start_other(set_);
  for (std::uint32_t step = 1; step <= 6; step += kSanitized ? 5 : 1)
    for (const auto moment : {Moment::before_post, Moment::after_post, Moment::before_collect})
      ASSERT_EQ(run(dir_ / "a", set_, {.death = std::pair{moment, step}}), "killed")
          << "step " << step << '\n'
          << log_;
  // The newest checkpoint is of round 4, and the secrets are of no round before.
  EXPECT_EQ(read_pairs(pairs("a")).records.at(0).chain.round(), 5U);
  EXPECT_EQ(fs::status(pairs("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(run(dir_ / "a", set_), "finished");
  other_.join();
  EXPECT_EQ(other_ending_, "finished");
  EXPECT_EQ(ledger(dir_ / "a").charges, 6U);
  for (const char* agent : {"a", "b"}) EXPECT_FALSE(fs::exists(pairs(agent))) << agent;
  const auto low = released("a"), high = released("b");
  for (const std::uint32_t round : {5U, 6U}) {
    auto sum = low.at(round);
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += high.at(round).at(j);
    EXPECT_LT(norm(sum), norm(low.at(round)) / 50) << round;
    EXPECT_GT(norm(sum), 0) << round;
  }
}

TEST_F(PairAgents, StateLedgerAndStatementAreThoseOfASimulation) {
  start_other(set_);
  EXPECT_EQ(run(dir_ / "a", set_), "finished");
  other_.join();
  auto alone = options(0, set_).config;
  alone.run.engine = EngineKind::simulate;
  Trainer simulation(assemble(alone));
  EXPECT_EQ(train_in(dir_ / "sim", simulation), TrainStatus::finished);
  const auto here = statement(dir_ / "a"), there = statement(dir_ / "sim");
  for (const char* key : {"shared_noise", "against", "guarantee", "sigma", "not_covered"})
    EXPECT_EQ(here.at(key), there.at(key)) << key;
  EXPECT_TRUE(says(here["against"], "up to 0 colluding agents")) << here["against"];
  EXPECT_EQ(ledger(dir_ / "a").header.noise_stddev, simulation.privacy().sigma());
  EXPECT_TRUE(says(log_, "not against all others together")) << log_;
}

TEST_F(PairAgents, WithoutItsSecretsOrWithDoubtAboutARoundAnAgentDoesNotGoOn) {
  start_other(set_);
  ASSERT_EQ(run(dir_ / "a", set_, {.death = std::pair{Moment::before_collect, 2}}), "killed");
  fs::copy(dir_ / "a", dir_ / "doubt", fs::copy_options::recursive);
  fs::remove(pairs("a"));
  auto end = run(dir_ / "a", set_);
  EXPECT_TRUE(says(end, "privacy: ") && says(end, "pairs is missing")) << end;
  // Independent noise would be charged once more, if there were room for it.
  flip(dir_ / "doubt" / "checkpoint" / "releases", 20);
  end = run(dir_ / "doubt", set_);
  EXPECT_TRUE(says(end, "record of round 2 is damaged") && says(end, "in common")) << end;
  EXPECT_EQ(ledger(dir_ / "doubt").charges, 2U);
}

TEST_F(PairAgents, KeysAreKeptWhileNeighboursAreAwayAndNothingIsCharged) {
  const auto key = [&] { return read_pairs(pairs("a")).records.at(0).own; };
  const auto away = [&] { return run(dir_ / "a", set_, {.unreachable = true}); };
  EXPECT_TRUE(says(away(), "has not answered"));
  const auto first = key();
  EXPECT_TRUE(says(away(), "has not answered"));
  EXPECT_EQ(key(), first);
  EXPECT_EQ(ledger(dir_ / "a").charges, 0U);
}

TEST_F(PairAgents, NeighboursCompareTheSizeOfWhatTheyShare) {
  const auto facts_of = [&](std::uint32_t agent, const std::vector<std::string>& overrides) {
    std::map<std::string, std::string> facts;
    auto with = hooks();
    with.connect = [&](const Hosting&,
                       const NetworkOptions& network) -> std::unique_ptr<NetworkTransport> {
      facts = network.facts;
      throw Killed();
    };
    ending([&] { run_agent(options(agent, overrides), dir_ / concat("facts", count_++), with); });
    return facts;
  };
  auto other = set_;
  other.push_back("privacy.epsilon=1.5");
  auto alone = set_;
  alone[4] = "privacy.shape=independent";
  alone.resize(5);
  const auto here = facts_of(0, set_);
  EXPECT_EQ(here.at("shared noise"), facts_of(1, set_).at("shared noise"));
  EXPECT_NE(here.at("shared noise"), facts_of(1, other).at("shared noise"));
  EXPECT_FALSE(facts_of(1, alone).contains("shared noise"));
  // And every key of the shape, by name.
  for (const auto& [position, text] :
       {std::pair{5, "privacy.colluders=1"}, std::pair{6, "privacy.pair_ratio=2"}}) {
    auto changed = set_;
    changed[static_cast<std::size_t>(position)] = text;
    const std::string key = std::string(text).substr(0, std::string(text).find('='));
    EXPECT_NE(here.at(key), facts_of(1, changed).at(key)) << key;
  }
  EXPECT_NE(here.at("privacy.shape"), facts_of(1, alone)["privacy.shape"]);
}

}  // namespace
}  // namespace porter
