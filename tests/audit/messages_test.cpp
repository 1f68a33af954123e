// SPDX-License-Identifier: Apache-2.0
// Whoever reads the messages of a method, or what an aggregation makes of them.
#include <gtest/gtest.h>

#include "attacks.hpp"

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

}  // namespace
}  // namespace porter
