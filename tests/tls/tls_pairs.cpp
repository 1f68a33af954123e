// SPDX-License-Identifier: Apache-2.0
// Keys that neighbours give each other, and agents that share secret noise by them.
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <map>

#include "agent/file_journal.hpp"
#include "io/file.hpp"
#include "network.hpp"
#include "porter/agent/agent.hpp"
#include "privacy/secure_noise.hpp"

namespace porter {
namespace {

using namespace std::chrono_literals;

const Hosting kPath = host_in_blocks({{1}, {0, 2}, {1}}, 3);

// A key for each neighbour, and those that came.
class SomeKeys final : public KeyExchange {
 public:
  explicit SomeKeys(std::uint32_t process) : process_(process) {}

  static Key key_of(std::uint32_t process, std::uint32_t neighbour) {
    return {static_cast<std::byte>(process), static_cast<std::byte>(neighbour), std::byte{77}};
  }
  Key own(std::uint32_t neighbour) const override { return key_of(process_, neighbour); }
  void take(std::uint32_t neighbour, const Key& key) override {
    const std::lock_guard lock(mutex_);
    require(!refuses, ErrorKind::privacy, "shows another key than before");
    taken_[neighbour] = key;
  }
  std::map<std::uint32_t, Key> taken() {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

  bool refuses = false;

 private:
  const std::uint32_t process_;
  std::mutex mutex_;
  std::map<std::uint32_t, Key> taken_;
};

// Everybody has the keys that its neighbours made for it, and no others, when it has met them.
TEST(TlsKeys, GoFromEachNeighbourToTheOtherAndNoFurther) {
  auto options = network_options(3);
  std::vector<std::unique_ptr<SomeKeys>> keys;
  std::vector<std::unique_ptr<NetworkTransport>> ends;
  for (std::uint32_t p = 0; p < 3; ++p) {
    options[p].keys = keys.emplace_back(std::make_unique<SomeKeys>(p)).get();
    ends.push_back(make_network_transport(kPath, options[p]));
  }
  for (auto& end : ends) EXPECT_EQ(end->meet(), 0U);
  const auto of = [](std::uint32_t p, std::uint32_t to) { return SomeKeys::key_of(p, to); };
  using Taken = std::map<std::uint32_t, KeyExchange::Key>;
  EXPECT_EQ(keys[0]->taken(), (Taken{{1, of(1, 0)}}));
  EXPECT_EQ(keys[1]->taken(), (Taken{{0, of(0, 1)}, {2, of(2, 1)}}));
  EXPECT_EQ(keys[2]->taken(), (Taken{{1, of(1, 2)}}));
  for (auto& end : ends) end->abandon();
}

TEST(TlsKeys, ANeighbourWithoutTheRightOneCountsAsAway) {
  const auto pair = host_in_blocks({{1}, {0}}, 2);
  for (const bool has_one : {false, true}) {
    auto options = network_options(2);
    SomeKeys low(0), high(1);
    low.refuses = has_one;
    options[0].keys = &low;
    options[0].start_wait = 1s;
    if (has_one) options[1].keys = &high;
    const auto a = make_network_transport(pair, options[0]);
    const auto b = make_network_transport(pair, options[1]);
    std::string why;
    try {
      a->meet();
    } catch (const Error& error) {
      why = error.what();
    }
    EXPECT_NE(why.find("agent-1 has been out of reach"), why.npos) << why;
    EXPECT_NE(
        why.find(has_one ? "shows another key than before" : "expected a key of 32 bytes, found 0"),
        why.npos)
        << why;
    EXPECT_TRUE(low.taken().empty());
    a->abandon();
    b->abandon();
  }
}

constexpr std::size_t kAgents = 4;

const char* const kShared = R"(
[data]
name = "synthetic"
[network]
agents = 4
graph = "ring"
mixing = "metropolis"
[algorithm]
name = "dp-dsgd"
rounds = 3
batch = "full"
step = 0.1
compressor = "identity"
clip = "smooth:1.0"
[privacy]
epsilon = 1
shape = "pairwise"
pair_ratio = 256
[run]
evaluate = "end"
)";

// Four agents in a ring, as one process each would run them.
class TlsPairs : public testing::Test {
 protected:
  TlsPairs() {
    init_authority(dir_ / "keys", "test", {.days = 2});
    for (std::size_t i = 0; i < kAgents; ++i) {
      issue_certificate(dir_ / "keys", KeyRing::name(i), {.days = 1});
      peers_.push_back({KeyRing::name(i), "127.0.0.1:" + std::to_string(free_port())});
    }
    write_file(dir_ / "shared.toml", kShared);
  }

  AgentOptions options(std::uint32_t i, const std::vector<std::string>& overrides = {}) const {
    AgentOptions options;
    options.config = load_agent_config(dir_ / "shared.toml", overrides, false);
    options.name = peers_[i].name;
    options.index = i;
    options.listen = peers_[i].address;
    options.authority = dir_ / "keys" / "ca.crt";
    options.certificate = dir_ / "keys" / (options.name + ".crt");
    options.key = dir_ / "keys" / (options.name + ".key");
    options.peers = peers_;
    options.start_wait = 30s;
    return options;
  }

  // How each ends.
  std::vector<std::string> run(const std::map<std::uint32_t, std::string>& other = {}) {
    std::vector<std::future<std::string>> ends;
    for (std::uint32_t i = 0; i < kAgents; ++i)
      ends.push_back(std::async(std::launch::async, [this, &other, i] {
        std::vector<std::string> overrides;
        if (const auto found = other.find(i); found != other.end())
          overrides.push_back(found->second);
        try {
          run_agent(options(i, overrides), dir_ / KeyRing::name(i), {});
          return std::string("finished");
        } catch (const std::exception& error) {
          return std::string(error.what());
        }
      }));
    std::vector<std::string> all;
    for (auto& end : ends) all.push_back(end.get());
    return all;
  }

  std::map<std::uint32_t, std::vector<double>> released(std::size_t i) const {
    const auto file = dir_ / KeyRing::name(i) / "checkpoint" / "releases.previous";
    const auto content = read_raw_file(file);
    return decode_journal(std::as_bytes(std::span(content)), file.string()).rounds;
  }

  TempDir dir_;
  std::vector<Peer> peers_;
};

// What each releases hides its gradient under noise 256 times as large as what is left in the sum.
TEST_F(TlsPairs, ReleaseGradientsWhoseNoiseCancelsInTheSum) {
  EXPECT_EQ(run(), std::vector<std::string>(kAgents, "finished"));
  auto config = options(0).config;
  config.run.engine = EngineKind::simulate;
  const auto parts = assemble(config);
  ThreadPool pool(1);
  auto gradients = algorithm_setup(parts, pool).gradients;
  const auto secure = gradients.secure;
  const double own = gradients.noise_stddev, shared = gradients.pair_stddev;
  gradients.secure = nullptr;
  gradients.pairs = nullptr;
  gradients.noise_stddev = 0;
  GradientEstimator estimator(parts.problem(), gradients, pool);
  Rows X(1, parts.facts.dim), G(kAgents, parts.facts.dim);
  std::ranges::copy(parts.start, X.row(0).begin());
  estimator.estimate(X, 1, G);

  std::vector<double> sum(parts.facts.dim);
  double hidden = 0;
  for (std::size_t i = 0; i < kAgents; ++i) {
    const auto y = released(i).at(1);
    ASSERT_EQ(y.size(), sum.size());
    for (std::size_t j = 0; j < y.size(); ++j) {
      EXPECT_EQ(std::remainder(y[j], secure->grid()), 0);
      hidden += (y[j] - G.row(i)[j]) * (y[j] - G.row(i)[j]);
      sum[j] += y[j] - G.row(i)[j];
    }
    EXPECT_FALSE(std::filesystem::exists(dir_ / KeyRing::name(i) / "checkpoint" / "pairs"));
  }
  double left = 0;
  for (const double value : sum) left += value * value;
  // Of the sum 4 s^2 are left in each coordinate, and each agent has s^2 + 2 c^2; five standard
  // errors.
  const double d = static_cast<double>(sum.size()), error = 5 * std::sqrt(2 / d);
  EXPECT_NEAR(left / d / (4 * own * own), 1, error);
  EXPECT_NEAR(hidden / (4 * d) / (own * own + 2 * shared * shared), 1, error);
  EXPECT_EQ(shared, 256 * own);
}

TEST_F(TlsPairs, RefuseEachOtherByTheNamesOfKeysThatDiffer) {
  for (const auto& end : run({{1, "privacy.pair_ratio=128"}, {3, "privacy.pair_ratio=128"}}))
    EXPECT_NE(end.find("privacy.pair_ratio"), end.npos) << end;
}

}  // namespace
}  // namespace porter
