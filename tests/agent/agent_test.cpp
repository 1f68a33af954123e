// SPDX-License-Identifier: Apache-2.0
#include "porter/agent/agent.hpp"
#include "porter/train/train.hpp"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "agent/agent_folder.hpp"
#include "agent/file_journal.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "says.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

const std::string kConfig = R"(
[network]
agents = 2
graph = "complete"
mixing = "metropolis"
)";
const std::string kAgent = R"(
[agent]
name = "b"
listen = "127.0.0.1:7400"
ca = "keys/ca.crt"
certificate = "keys/b.crt"
key = "keys/b.key"
peers = [{name = "a", address = "10.0.0.1:7400"}, {name = "b", address = "10.0.0.2:7400"}]
)";

const FileOwner kOwner{std::string(32, 'a'), 3};

AgentOptions load(const std::string& text, const std::vector<std::string>& overrides = {},
                  bool insecure = false) {
  TempDir folder;
  write_file(folder / "node.toml", text);
  return load_agent_options(folder / "node.toml", overrides, insecure);
}

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    load(text, overrides);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(AgentOptions, ReadsWhoItIsAndHowToReachTheOthers) {
  const auto options = load(kConfig + kAgent, {"agent.on_peer_loss=wait:5m", "agent.log=json"});
  EXPECT_EQ(options.index, 1U);
  EXPECT_EQ(options.peers[0].address, "10.0.0.1:7400");
  EXPECT_EQ(options.peer_wait, std::chrono::minutes(5));
  EXPECT_TRUE(options.json_log);
  EXPECT_TRUE(options.certificate.is_absolute());
  EXPECT_EQ(load(kConfig + kAgent, {"agent.on_peer_loss=stop"}).peer_wait.count(), 0);
}

TEST(AgentOptions, RefusesPortsThatThereAreNot) {
  for (const std::string port : {"80000", "65536", "0", "-1", "74x", ""}) {
    const auto text = refusal(kConfig + kAgent, {"agent.listen=\"127.0.0.1:" + port + '"'});
    EXPECT_TRUE(says(text, "agent.listen") && says(text, "1 to 65535") &&
                says(text, "127.0.0.1:" + port))
        << text;
    const auto peers = "agent.peers=[{name=\"a\", address=\"10.0.0.1:" + port +
                       "\"}, {name=\"b\", address=\"10.0.0.2:7400\"}]";
    const auto said = refusal(kConfig + kAgent, {peers});
    EXPECT_TRUE(says(said, "agent.peers") && says(said, "10.0.0.1:" + port)) << said;
  }
  EXPECT_EQ(load(kConfig + kAgent, {"agent.listen=\"[::]:65535\""}).listen, "[::]:65535");
}

TEST(AgentOptions, ReadsHowLongARoundMayWait) {
  EXPECT_EQ(load(kConfig + kAgent).round_wait, std::chrono::minutes(10));
  EXPECT_EQ(load(kConfig + kAgent, {"agent.round_wait=90s"}).round_wait, std::chrono::seconds(90));
  for (const std::string wrong : {"0s", "9000h", "soon"})
    EXPECT_TRUE(says(refusal(kConfig + kAgent, {"agent.round_wait=" + wrong}), "agent.round_wait"));
}

TEST(AgentOptions, NoiseIsSecretUnlessTheTestIsNamed) {
  EXPECT_EQ(load(kConfig + kAgent).config.privacy->noise, NoiseSource::secret);
  EXPECT_EQ(load("[privacy]\nepsilon = 1\n" + kConfig + kAgent).config.privacy->noise,
            NoiseSource::secret);
  EXPECT_EQ(load(kConfig + kAgent, {}, true).config.privacy->noise, NoiseSource::simulated);
  EXPECT_EQ(load(kConfig + kAgent, {"privacy.noise=secure"}, true).config.privacy->noise,
            NoiseSource::secret);
  EXPECT_TRUE(says(refusal(kConfig + kAgent, {"privacy.noise=simulated"}), "must be secret"));
}

TEST(AgentOptions, RefusesWhatDoesNotFitAndNamesTheKey) {
  EXPECT_TRUE(says(refusal(kConfig), "[agent] is missing"));
  EXPECT_TRUE(says(refusal(kConfig + kAgent, {"agent.name=c"}), "\"c\" is not among them"));
  EXPECT_TRUE(says(refusal(kConfig + kAgent, {"network.agents=3"}), "network.agents is 3, but 2"));
  EXPECT_TRUE(
      says(refusal(kConfig + kAgent, {"agent.on_peer_loss=wait:soon"}), "agent.on_peer_loss"));
  EXPECT_TRUE(says(refusal(kConfig + kAgent, {"agent.port=1"}), "port"));
  EXPECT_TRUE(
      says(refusal(kConfig + kAgent, {"algorithm.name=ldp-sgd"}), "do not talk to neighbours"));
}

TEST(AgentOptions, WhatAMemberConsentsToIsItsOwn) {
  EXPECT_TRUE(load(kConfig + kAgent).require_noise);
  EXPECT_FALSE(load(kConfig + kAgent).max_epsilon);
  const auto options =
      load(kConfig + kAgent, {"agent.require_noise=false", "agent.max_epsilon=0.5"});
  EXPECT_FALSE(options.require_noise);
  EXPECT_EQ(options.max_epsilon, 0.5);
  EXPECT_EQ(to_toml(options.config), to_toml(load(kConfig + kAgent).config));
  EXPECT_TRUE(says(refusal(kConfig + kAgent, {"agent.max_epsilon=-1"}), "agent.max_epsilon"));
}

TEST(AgentFacts, NameTheKeysInWhichTwoRunsDiffer) {
  const auto facts = [](const std::vector<std::string>& overrides) {
    const auto config = parse_config(kConfig, "c.toml", overrides);
    auto graph = make_graph(config.network.graph, 2, 1);
    auto mixing = make_mixing(config.network.mixing, graph);
    return shared_facts(config, {std::move(graph), std::move(mixing)}, 10);
  };
  EXPECT_EQ(facts({}), facts({"run.threads=3", "run.checkpoint=every:5", "run.engine=tls"}));
  auto other = facts({"algorithm.step=0.5", "run.seed=9"});
  std::vector<std::string> differing;
  for (const auto& [key, value] : facts({}))
    if (other[key] != value) differing.push_back(key);
  EXPECT_EQ(differing, (std::vector<std::string>{"algorithm.step", "run.seed"}));
}

TEST(AgentFolder, ACheckpointComesBackWithItsMessages) {
  TempDir folder;
  const auto config = parse_config(kConfig, "c.toml");
  AgentFolder files(folder / "a", config, kOwner);
  EXPECT_FALSE(files.load_newest());
  SentLog sent;
  for (std::uint32_t size = 0; size < 20; ++size) {
    Payload bytes;
    for (std::uint32_t i = 0; i < size; ++i) put(bytes, static_cast<std::uint8_t>(255 - i));
    sent.add(size + 1, bytes);
  }
  files.save({.run = kOwner.run, .now = {.round = 4}}, sent);
  const auto loaded = AgentFolder(folder / "a", config, kOwner).load_newest();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->round(), 4U);
  EXPECT_EQ(loaded->sent.packed(), sent.packed());
  const auto other = parse_config(kConfig, "c.toml", {"run.seed=2"});
  EXPECT_THROW(AgentFolder(folder / "a", other, kOwner), Error);
}

TEST(AgentFolder, FilesOfSomebodyElseAreLeftAlone) {
  TempDir folder;
  const auto config = parse_config(kConfig, "c.toml");
  for (const char* name : {"model.npz", "privacy.json", "notes.txt"}) {
    const auto path = folder / std::string(name).append("-folder");
    std::filesystem::create_directory(path);
    write_file(path / name, "mine");
    EXPECT_THROW(AgentFolder(path, config, kOwner), Error) << name;
    EXPECT_FALSE(std::filesystem::exists(path / "config.toml")) << name;
  }
  std::filesystem::create_directory(folder / "own");
  for (const char* name : {"node.toml", "agent.log"}) write_file(folder / "own" / name, "");
  EXPECT_NO_THROW(AgentFolder(folder / "own", config, kOwner));
}

TEST(AgentFolder, NothingIsCollectedFromWhatIsNoFolderOfAnAgent) {
  TempDir folder;
  const auto config = parse_config(kConfig, "c.toml");
  EXPECT_THROW(collect_agents(config, {folder / "a", folder / "b"}, folder / "out"), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

TEST(AgentFolder, ADamagedCheckpointNeverReplacesTheOneBefore) {
  TempDir folder;
  const auto config = parse_config(kConfig, "c.toml");
  const auto save = [&](AgentFolder& files, std::uint32_t round) {
    files.save({.run = kOwner.run, .now = {.round = round}}, {});
  };
  AgentFolder first(folder / "a", config, kOwner);
  save(first, 4);
  save(first, 8);
  EXPECT_EQ(first.oldest_round(), 4U);
  const auto newest = folder / "a" / "checkpoint" / "checkpoint.npz";
  write_file(newest, "damaged");
  AgentFolder second(folder / "a", config, kOwner);
  auto loaded = second.load_newest();
  EXPECT_EQ(loaded->round(), 4U);
  EXPECT_TRUE(says(loaded->damage, newest.string())) << loaded->damage;
  save(second, 6);
  EXPECT_EQ(second.oldest_round(), 4U);
  write_file(newest, "damaged");
  EXPECT_EQ(AgentFolder(folder / "a", config, kOwner).load_newest()->round(), 4U);
  std::filesystem::remove(newest);  // a crash between the two files
  EXPECT_EQ(AgentFolder(folder / "a", config, kOwner).load_newest()->round(), 4U);
}

TEST(AgentFolder, ACheckpointOfTheFirstReleaseIsNamedAsOne) {
  TempDir folder;
  AgentFolder files(folder / "a", parse_config(kConfig, "c.toml"), kOwner);
  // A good one before it is no reason to go back to that.
  for (const std::uint32_t round : {4, 8})
    files.save({.run = kOwner.run, .now = {.round = round}}, {});
  save_npz(folder / "a" / "checkpoint" / "checkpoint.npz",
           Npz{{"counters", {{7}, {4, 0, 0, 0, 0, 0, 4}}}, {"sent", {{0}, {}}}});
  try {
    files.load_newest();
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(says(error.what(), "porter 0.1")) << error.what();
  }
}

TEST(FileJournal, RecallsWhatWasReleasedAndForgetsWhatACheckpointHolds) {
  TempDir folder;
  const auto file = folder / "releases";
  const std::vector<double> g = {1.5, -2, 1e-300};
  {
    FileJournal journal(file, kOwner);
    EXPECT_TRUE(journal.empty());
    journal.record(0, 7, g);
    journal.record(0, 8, g);
  }
  std::vector<double> back(3);
  FileJournal journal(file, kOwner);
  EXPECT_FALSE(journal.empty());
  EXPECT_TRUE(journal.holds(8));
  EXPECT_TRUE(journal.recall(0, 7, back));
  EXPECT_EQ(back, g);
  EXPECT_FALSE(journal.recall(0, 9, back));
  journal.turn(7);  // 8 was released before a restart, and has not been done again yet
  EXPECT_FALSE(journal.recall(0, 7, back));
  EXPECT_TRUE(journal.recall(0, 8, back));
  journal.record(0, 9, g);
  EXPECT_TRUE(FileJournal(file, kOwner, 7).holds(8));
  EXPECT_TRUE(FileJournal(file, kOwner, 7).holds(9));
  EXPECT_FALSE(FileJournal(file, kOwner).holds(7));
  EXPECT_TRUE(FileJournal(file, kOwner, 6, true).holds(7)) << "since the checkpoint before";
  FileJournal(file, kOwner, 7).turn(9);
  EXPECT_FALSE(FileJournal(file, kOwner, 7).holds(9));
  EXPECT_TRUE(FileJournal(file, kOwner, 7, true).holds(9));
  EXPECT_THROW(FileJournal(file, {kOwner.run, 4}), Error);
}

TEST(FileJournal, ACutOffRecordWasNeverSentAndADamagedOneMayHaveBeen) {
  TempDir folder;
  const auto file = folder / "releases";
  const std::vector<double> g = {1, 2};
  constexpr std::size_t kRecord = 12 + 16 + 4;
  {
    FileJournal journal(file, kOwner);
    journal.record(0, 1, g);
    journal.record(0, 2, g);
  }
  const auto whole = read_raw_file(file);
  for (std::size_t cut = 1; cut <= kRecord; ++cut) {
    write_file(file, std::string_view(whole).substr(0, whole.size() - cut));
    FileJournal journal(file, kOwner);
    EXPECT_TRUE(journal.holds(1)) << cut;
    EXPECT_FALSE(journal.holds(2)) << cut;
    EXPECT_FALSE(journal.doubtful()) << cut;
  }
  // Every byte of the last record, its length too.
  for (std::size_t bit = 8 * (whole.size() - kRecord); bit < 8 * whole.size(); bit += 9) {
    auto damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_file(file, damaged);
    FileJournal journal(file, kOwner);
    EXPECT_FALSE(journal.holds(2)) << bit;
    EXPECT_TRUE(journal.doubtful()) << bit;
    EXPECT_THROW(journal.record(0, 2, g), Error);
    EXPECT_EQ(read_raw_file(file), damaged) << "it is kept until the round is charged anew";
    journal.drop_doubtful();
    EXPECT_FALSE(FileJournal(file, kOwner).doubtful());
  }
  auto damaged = whole;  // in the middle of the first record
  damaged[whole.size() - kRecord - 8] = static_cast<char>(damaged[whole.size() - kRecord - 8] ^ 1);
  write_file(file, damaged);
  EXPECT_THROW(FileJournal(file, kOwner), Error);
  write_file(file, "porterj1");
  EXPECT_THROW(FileJournal(file, kOwner), Error);
}

// A reader of Prometheus' text format, version 0.0.4, as strict as what we write can be held to:
// every sample follows the HELP and TYPE of its metric; labels are quoted and escaped.
std::map<std::string, double> parse_prometheus(const std::string& text) {
  std::map<std::string, double> samples;
  std::set<std::string> seen;
  std::string metric, line;
  std::istringstream lines(text);
  const std::regex help(R"(# HELP ([a-z_]+) [^\\]+)"), type(R"(# TYPE ([a-z_]+) (gauge|counter))"),
      sample(
          R"(([a-z_]+)(\{[a-z]+="([^"\\\n]|\\\\|\\"|\\n)*"(,[a-z]+="([^"\\\n]|\\\\|\\"|\\n)*")*\}) (\S+))");
  std::smatch match;
  while (std::getline(lines, line)) {
    if (std::regex_match(line, match, help)) {
      metric = match[1];
      EXPECT_TRUE(seen.insert(metric).second) << metric << " comes twice";
    } else if (std::regex_match(line, match, type)) {
      EXPECT_EQ(match[1], metric);
      EXPECT_EQ(match[2] == "counter", metric.ends_with("_total")) << metric;
    } else {
      EXPECT_TRUE(std::regex_match(line, match, sample)) << line;
      EXPECT_EQ(match[1], metric) << line;
      const auto name = match[1].str() + match[2].str();
      EXPECT_TRUE(samples.emplace(name, std::stod(match[6])).second) << name << " comes twice";
    }
  }
  EXPECT_TRUE(text.ends_with('\n'));
  return samples;
}

TEST(AgentStatus, NamesWhomARoundHasWaitedForLong) {
  const auto text =
      to_json({}, {{.neighbour = "b", .waiting_seconds = 0.2}, {"c", true, 0, 9, 5.5}});
  EXPECT_NE(text.find("\"waiting_for\":[\"c\"]"), std::string::npos) << text;
}

TEST(AgentStatus, IsReadableByPrometheus) {
  AgentStatus status;
  status.name = "hospital-a";
  status.state = "training";
  status.round = 3;
  status.rounds = 10;
  status.checkpoint = 2;
  status.epsilon = 0.5;
  status.wait_seconds = 1.25;
  status.bytes = {.posted = 100, .received = 300, .posted_overhead = 10, .received_overhead = 30};
  const auto samples = parse_prometheus(to_prometheus(
      status, {{.neighbour = "b",
                .connected = true,
                .reconnects = 2,
                .wait_seconds = 0.5,
                .waiting_seconds = 7.5},
               {.neighbour = "c \"\\\n", .connected = false, .reconnects = 0, .wait_seconds = 0}}));
  const std::string agent = "{agent=\"hospital-a\"";
  const std::map<std::string, double> expected = {
      {"porter_round" + agent + "}", 3},
      {"porter_rounds" + agent + "}", 10},
      {"porter_running" + agent + "}", 1},
      {"porter_checkpoint_round" + agent + "}", 2},
      {"porter_sent_bytes_total" + agent + ",kind=\"payload\"}", 90},
      {"porter_sent_bytes_total" + agent + ",kind=\"header\"}", 10},
      {"porter_received_bytes_total" + agent + ",kind=\"payload\"}", 270},
      {"porter_received_bytes_total" + agent + ",kind=\"header\"}", 30},
      {"porter_collect_seconds_total" + agent + "}", 1.25},
      {"porter_wait_seconds_total" + agent + ",neighbour=\"b\"}", 0.5},
      {"porter_wait_seconds_total" + agent + ",neighbour=\"c \\\"\\\\\\n\"}", 0},
      {"porter_waiting_seconds" + agent + ",neighbour=\"b\"}", 7.5},
      {"porter_waiting_seconds" + agent + ",neighbour=\"c \\\"\\\\\\n\"}", 0},
      {"porter_reconnects_total" + agent + ",neighbour=\"b\"}", 2},
      {"porter_reconnects_total" + agent + ",neighbour=\"c \\\"\\\\\\n\"}", 0},
      {"porter_neighbour_connected" + agent + ",neighbour=\"b\"}", 1},
      {"porter_neighbour_connected" + agent + ",neighbour=\"c \\\"\\\\\\n\"}", 0},
      {"porter_noise_secret" + agent + "}", 0},
      {"porter_epsilon" + agent + "}", 0.5}};
  EXPECT_EQ(samples, expected);
}

}  // namespace
}  // namespace porter
