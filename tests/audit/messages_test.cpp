// SPDX-License-Identifier: Apache-2.0
// Whoever reads the messages of a method, or what an aggregation makes of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "algo/led_correction.hpp"
#include "algo/sweep_mask.hpp"
#include "attacks.hpp"
#include "comm/exchange.hpp"
#include "comm/frame.hpp"
#include "in_process.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

// A record's gradient turns around as soon as agents have moved: what it has in two of them is
// longest, (2 - beta) times as long as in one, if each of them is clipped by itself.
class TurningModel final : public Model {
 public:
  std::size_t dim() const override { return 1; }
  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    if (!gradient.empty()) gradient[0] = (x[0] == 0 ? 1 : -1) * double{sample.values[0]};
    return 0;
  }
  double predict(std::span<const double>, const Sample&) const override { return 0; }
};

constexpr double kBeta = 0.02;
double sign_in(std::uint32_t round) { return round == 1 ? 1 : -1; }  // of the canary's term
double kept_in(std::uint32_t round) { return round == 1 ? 0 : 1 - kBeta; }

// What is sent is V and X. From those of two rounds a neighbour who hears everybody has what an
// agent added to V, which is what M moved by, and so the release.
TEST(AttackOnRecursiveMomentum, OnTheMessagesComesNearTheEpsilonOfOneVectorOfARecord) {
  for (const Keys& sampling :
       {Keys{}, Keys{"algorithm.batch=3", "privacy.sampler=poisson", "privacy.epsilon=4"}}) {
    Keys keys = {"algorithm.name=motef-vr", concat("algorithm.momentum=", kBeta),
                 "network.graph=ring", "algorithm.rounds=2", "privacy.epsilon=2.5"};
    keys.insert(keys.end(), sampling.begin(), sampling.end());
    Worst worst(kMany, kRecords, keys, {.model = std::make_shared<const TurningModel>()});
    const auto& parts = worst.parts[0];
    const double gamma = parts.config.algorithm.consensus, eta = parts.config.algorithm.step;
    const auto& W = parts.network->mixing.weights;
    const auto gap = [&](const std::vector<double>& sent, std::size_t i) {
      double sum = -sent[i];
      for (const auto& [j, weight] : W.row(i)) sum += weight * sent[j];
      return sum;
    };
    const auto one = promised(parts.sampler(), parts.sigma(), 1);
    Scores scores;
    for (const bool with : {false, true})
      for (std::size_t run = 0; run < 400; ++run) {
        auto setup = worst.setups[with];
        setup.gradients.seed = 2 * run + (with ? 1 : 0);
        const auto algorithm = worst.parts[with].make(setup);
        std::vector<double> X(kMany, 0.0), V = X, M = X, score = X;
        for (std::uint32_t round = 1; round <= worst.rounds(); ++round) {
          algorithm->step(round);
          const auto X_before = X, V_before = V;
          for (std::size_t i = 0; i < kMany; ++i) {
            X[i] = algorithm->iterates().row(i)[0];
            V[i] = (X_before[i] + gamma * gap(X_before, i) - X[i]) / eta;
            const double moved = V[i] - V_before[i] - gamma * gap(V_before, i);
            const double released = M[i] + moved - kept_in(round) * M[i];
            M[i] += moved;
            score[i] += one.score(sign_in(round) * released);
          }
        }
        scores.of[with].insert(scores.of[with].end(), score.begin(), score.end());
      }
    expect_tight(scores, worst.certified());
  }
}

// The same recursion under a trusted aggregation: who reads x has v, with noise that was added
// once, and one record moves the mean of all agents.
TEST(AttackOnRecursiveMomentum, OnTheAggregateComesNearTheCentralEpsilon) {
  constexpr std::size_t kAgents = 2;
  Worst worst(kAgents, kRecords,
              {"algorithm.name=ddp-srm", concat("algorithm.momentum=", kBeta), "algorithm.rounds=2",
               "privacy.epsilon=2.5"},
              {.victim = 0, .model = std::make_shared<const TurningModel>()});
  const auto& parts = worst.parts[0];
  const double eta = parts.config.algorithm.step;
  const auto one = promised(parts.sampler(), kAgents * parts.sigma(), 1);
  Scores scores;
  for (const bool with : {false, true})
    for (std::size_t run = 0; run < 100'000; ++run) {
      auto setup = worst.setups[with];
      setup.gradients.seed = 2 * run + (with ? 1 : 0);
      const auto algorithm = worst.parts[with].make(setup);
      double x = 0, v = 0, score = 0;
      for (std::uint32_t round = 1; round <= worst.rounds(); ++round) {
        algorithm->step(round);
        const double now = algorithm->iterates().row(0)[0], before = v;
        v = (x - now) / eta;
        x = now;
        score += one.score(kAgents * sign_in(round) * (v - kept_in(round) * before));
      }
      scores.of[with].push_back(score);
    }
  expect_tight(scores, worst.certified());
}

// Three gradients for a message, two messages: what is sent is X, from which a neighbour who hears
// everybody finds the sum of the releases in between.
TEST(AttackOnLocalSteps, OnTheMessagesComesNearTheEpsilonOfAsManyReleases) {
  constexpr std::uint32_t kSteps = 3;
  Worst worst(kMany, kRecords,
              {"algorithm.name=lt-admm", concat("algorithm.local_steps=", kSteps),
               "network.graph=ring", "algorithm.rounds=6", "privacy.epsilon=2.5"});
  const auto& parts = worst.parts[0];
  const double gamma = parts.config.algorithm.consensus, eta = parts.config.algorithm.step;
  const auto& W = parts.network->mixing.weights;
  const double sigma = parts.sigma();
  Scores scores;
  for (const bool with : {false, true})
    for (std::size_t run = 0; run < 250; ++run) {
      auto setup = worst.setups[with];
      setup.gradients.seed = 2 * run + (with ? 1 : 0);
      const auto algorithm = worst.parts[with].make(setup);
      std::vector<double> sent(kMany, 0.0), R = sent, Y = sent, score = sent;
      for (std::uint32_t round = 1; round <= worst.rounds(); ++round) {
        algorithm->step(round);
        if (round % kSteps != 0) continue;
        const auto before = sent;
        for (std::size_t i = 0; i < kMany; ++i) {
          sent[i] = double{static_cast<float>(algorithm->iterates().row(i)[0])};  // as it travels
          const double sum = (before[i] + kSteps * R[i] - sent[i]) / eta;
          score[i] += 2 * kUnit * sum / (sigma * sigma);
        }
        for (std::size_t i = 0; i < kMany; ++i) {
          double d = -sent[i];
          for (const auto& [j, weight] : W.row(i)) d += weight * sent[j];
          R[i] = gamma / kSteps * (d + Y[i] / 2);
          Y[i] += d;
        }
      }
      scores.of[with].insert(scores.of[with].end(), score.begin(), score.end());
    }
  expect_tight(scores, worst.certified());
}

// Notes what every message says, which is one float, as it leaves.
class Tap final : public Transport {
 public:
  /// `heard` has a row for each agent and an entry for each step.
  Tap(std::unique_ptr<Transport> inner, Rows& heard) : inner_(std::move(inner)), heard_(heard) {}
  void post(std::uint32_t step, std::uint32_t sender, std::span<const std::byte> bytes) override {
    // A header, the length of the vector, the float, a checksum.
    require(bytes.size() == kFrameHeaderBytes + 12, ErrorKind::protocol, "expected one float");
    float value = 0;
    std::memcpy(&value, bytes.data() + kFrameHeaderBytes + kLengthBytes, sizeof value);
    heard_.row(sender)[step - 1] = value;
    inner_->post(step, sender, bytes);
  }
  std::span<const Received> collect(std::uint32_t step) override { return inner_->collect(step); }
  void finish() override { inner_->finish(); }
  void abort(const std::string& reason) noexcept override { inner_->abort(reason); }

 private:
  std::unique_ptr<Transport> inner_;
  Rows& heard_;
};

// A training on two processes, each of which has every other agent of a ring, so that all messages
// travel.
Rows messages_of(const RunParts& parts, std::uint64_t seed) {
  const auto& neighbours = parts.network->graph.neighbours();
  std::vector<std::uint32_t> process_of;
  for (std::uint32_t i = 0; i < neighbours.size(); ++i) process_of.push_back(i % 2);
  const Hosting hosting(process_of, neighbours);
  const auto dim = parts.facts.dim;
  const auto rounds = parts.config.algorithm.rounds;
  auto ends = make_in_process_transports(hosting, Exchange::max_message(dim, neighbours.size()));
  Rows heard(neighbours.size(), rounds);
  std::vector<std::thread> threads;
  for (std::uint32_t process = 0; process < 2; ++process)
    threads.emplace_back([&, process, end = std::move(ends[process])]() mutable {
      Tap tap(std::move(end), heard);
      try {
        Exchange exchange(tap, hosting, process,
                          {.encoding = encoding_id(parts.config.algorithm.compressor), .dim = dim});
        ThreadPool alone(1);
        auto setup = algorithm_setup(parts, alone);
        setup.gradients.seed = seed;
        setup.exchange = &exchange;
        const auto algorithm = parts.make(setup);
        for (std::uint32_t round = 1; round <= rounds; ++round) algorithm->step(round);
        tap.finish();
      } catch (const std::exception& error) {
        tap.abort(error.what());
        ADD_FAILURE() << "process " << process << ": " << error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  return heard;
}

// How likely it is that L releases have the sum y, up to a factor: how many of their batches have
// the canary, which adds u, is binomial with the rate q.
double log_likelihood(double y, double u, std::uint32_t L, double q, double sigma) {
  const auto exponent = [&](double drawn) {
    return -(y - drawn * u) * (y - drawn * u) / (2 * L * sigma * sigma);
  };
  if (q == 1) return exponent(L);
  double sum = 0, chance = std::pow(1 - q, L);
  for (std::uint32_t drawn = 0; drawn <= L; ++drawn) {
    sum += chance * std::exp(exponent(drawn));
    chance *= q / (1 - q) * (L - drawn) / (drawn + 1);
  }
  return std::log(sum);
}

// The frames of sweep-led, one coordinate of two in a round, so that a visit tells the sum of the
// two releases since the one before. Who hears an agent and its neighbours takes away what gossip
// did, and the control variate, which follows from that. The canary is in the coordinate that is
// visited in the last round.
TEST(AttackOnSweeps, OnTheFramesComesNearTheEpsilon) {
  constexpr std::size_t kAgents = 50, kRuns = long_runs(60'000), kDim = 2, kCanary = 0;
  for (const Keys& sampling :
       {Keys{"privacy.epsilon=2.5"},
        Keys{"algorithm.batch=3", "privacy.sampler=poisson", "privacy.epsilon=4"}}) {
    Keys keys = {"algorithm.name=sweep-led", "algorithm.compressor=random_k:k=1",
                 "algorithm.mask=sweep", "network.graph=ring", "algorithm.rounds=4"};
    keys.insert(keys.end(), sampling.begin(), sampling.end());
    Worst worst(kAgents, kRecords, keys, {.model = std::make_shared<const FeatureModel>(kDim)});
    const auto& parts = worst.parts[0];
    const auto& W = parts.network->mixing.weights;
    const double eta = parts.config.algorithm.step, sigma = parts.sigma(),
                 c = led_correction(W, kSweepLedCorrection),
                 b = static_cast<double>(parts.sampler().batch()), q = b / kRecords;
    Scores scores;
    for (const bool with : {false, true})
      for (std::uint64_t seed = with ? 1 : 0; scores.of[with].size() < kRuns; seed += 2) {
        const SweepMask mask(seed, kDim, 1);
        if (mask.positions(worst.rounds())[0] != kCanary) continue;
        const auto sent = messages_of(worst.parts[with], seed);
        for (std::size_t i = 0; i < kAgents; ++i) {
          double x = 0, h = 0, score = 0;
          for (std::uint32_t round = 1; round <= worst.rounds(); ++round) {
            if (mask.positions(round)[0] != kCanary) continue;
            const auto L = mask.rounds_since_visit(round, 1);
            const auto of = [&](std::size_t agent) { return sent.row(agent)[round - 1]; };
            const double sum = L * h + (x - of(i)) / eta;
            score +=
                log_likelihood(sum, 1 / b, L, q, sigma) - log_likelihood(sum, -1 / b, L, q, sigma);
            double moved = -of(i);
            for (const auto& [j, weight] : W.row(i)) moved += weight * of(j);
            h += c * moved / (eta * L);
            x = of(i) + moved;
          }
          scores.of[with].push_back(score);
        }
      }
    expect_tight(scores, worst.certified());
  }
}

}  // namespace
}  // namespace porter
