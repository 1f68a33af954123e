// SPDX-License-Identifier: Apache-2.0
// Mechanisms that `porter privacy audit` refuses, and messages of methods that it cannot read,
// attacked as a training releases them: its own options and estimator, or method, on the data that
// leak most, the likelihood ratio of those data, and the intervals of Clopper and Pearson. What is
// found is below the certified epsilon, and above half of it.
#pragma once

#include <gtest/gtest.h>

#include "audit/audit.hpp"
#include "audit/mechanism.hpp"
#include "audit/models.hpp"
#include "audit/statistics.hpp"
#include "porter/train/assemble.hpp"
#include "sanitized.hpp"

namespace porter {

using Keys = std::vector<std::string>;

inline constexpr double kDelta = 1e-3;
inline constexpr float kFar = 1e9F;  ///< of whose smooth clip nobody sees that it is not tau

inline Config worst_config(std::size_t agents, const Keys& more) {
  Keys keys = {concat("network.agents=", agents), "network.graph=complete",
               "network.mixing=metropolis",       "algorithm.name=dp-dsgd",
               "algorithm.compressor=identity",   "algorithm.step=1",
               "algorithm.consensus=0.5",         "algorithm.start=zeros",
               "algorithm.clip=smooth:1",         "algorithm.batch=full",
               concat("privacy.delta=", kDelta),  "run.threads=1"};
  keys.insert(keys.end(), more.begin(), more.end());
  return parse_config("", "test", keys);
}

/// What the records are, beside the canaries.
struct Records {
  std::vector<std::size_t> sizes = {};
  std::size_t pixels = 1;
  float others = 0;                              ///< the feature of those that are no canary
  std::optional<std::size_t> victim = {};        ///< the only agent with a canary; else all
  std::shared_ptr<const Model> model = nullptr;  ///< else the gradient is the feature
};

/// Agents with m records of one feature (or an image), which is their gradient. The first record of
/// each is the canary, opposed in the neighbouring data or missing there, and the others have no
/// gradient.
struct Worst {
  Worst(std::size_t agents, std::size_t m, const Keys& keys, const Records& records = {})
      : X(agents, 1) {
    const auto pixels = records.pixels;
    auto config = worst_config(agents, keys);
    if (config.data.schema) {  // what was measured is there
      auto complete = *config.data.schema;
      for (auto& column : complete.columns) column.low = -2, column.high = 2;
      config.data.schema = std::make_shared<const Schema>(std::move(complete));
    }
    const bool opposed = config.privacy->adjacency == Adjacency::replace;
    for (const bool with : {false, true}) {
      const float canary = with ? kFar : opposed ? -kFar : 0;
      Dataset data;
      data.features = pixels;
      data.values.assign(agents * m * pixels, records.others);
      data.labels.assign(agents * m, 0.0F);
      for (std::size_t i = 0; i < agents; ++i)
        for (std::size_t j = 0; j < pixels && records.victim.value_or(i) == i; ++j)
          data.values[i * m * pixels + j] = canary * static_cast<float>(1 + j);
      Sources sources;
      sources.data = {.train = std::make_shared<const Dataset>(std::move(data)),
                      .test = nullptr,
                      .source = "the worst",
                      .sizes = records.sizes};
      sources.model = records.model ? records.model : std::make_shared<const FeatureModel>(1);
      parts[with] = assemble(config, std::move(sources));
      setups.push_back(algorithm_setup(parts[with], pool));
    }
  }

  std::uint32_t rounds() const { return parts[0].config.algorithm.rounds; }
  double certified(std::size_t agent = 0) const {
    return parts[0].privacy->of(agent).interval(rounds())->upper;
  }

  ThreadPool pool{1};
  RunParts parts[2];                   ///< without and with
  std::vector<AlgorithmSetup> setups;  ///< the same
  Rows X;
};

/// What one release of an agent says, if it is made as is promised.
inline WorstCase promised(const BatchSampler& sampler, double sigma, double tau,
                          Adjacency adjacency = Adjacency::replace) {
  AuditSetting setting{.sampler = sampler, .adjacency = adjacency, .claim = std::nullopt};
  setting.clip = {Clip::Kind::smooth, tau};
  setting.sigma = sigma;
  return WorstCase(setting);
}

struct Scores {
  std::vector<double> of[2];  ///< without and with the canary
};

/// Runs of a test that is long under a sanitizer, which is no judge of how near an attack comes.
constexpr std::size_t long_runs(std::size_t runs) { return kSanitized ? runs / 20 : runs; }

/// The figures are those of docs/audit.md.
inline void expect_tight(const Scores& scores, double certified) {
  const auto bound = epsilon_lower_bound(scores.of[1], scores.of[0], kDelta, kAuditConfidence);
  EXPECT_LT(bound.epsilon, certified);
  if (!kSanitized) {
    EXPECT_GT(bound.epsilon, 0.5 * certified);
  }
}

inline constexpr std::size_t kMany = 400, kRecords = 4;
inline constexpr double kUnit = 1.0 / kRecords;  ///< tau / b of a full batch

}  // namespace porter
