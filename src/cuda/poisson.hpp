// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "device.hpp"
#include "porter/algo/algorithm.hpp"
#include "privacy/draw_batch.hpp"
#include "sample_rows.hpp"

namespace porter::cuda {

/// Batches of random size (privacy.sampler = "poisson"), drawn on the host by the library's own
/// code, some rounds at once, while the device computes those before them.
class PoissonBatches {
 public:
  PoissonBatches(const Device& device, const AlgorithmSetup& setup)
      : device_(device),
        sampler_(setup.gradients.sampler),
        seed_(setup.gradients.seed),
        agents_(setup.problem.agents),
        pool_(setup.pool),
        drawn_(kRoundsAhead * agents_) {}

  /// Batches are seldom larger; then there is more room to be made.
  static std::size_t likely_size(const BatchSampler& sampler) {
    const auto batch = static_cast<double>(sampler.batch());
    return std::min(sampler.records(), static_cast<std::size_t>(batch + 3 * std::sqrt(batch)) + 1);
  }
  static std::size_t bytes_per_agent(const BatchSampler& sampler) {
    return kRoundsAhead * (likely_size(sampler) + 1) * sizeof(std::uint32_t);
  }

  /// The batches of a round; rows.batch is now the largest of some rounds, at least 1.
  void use(std::uint32_t round, SampleRows& rows) {
    if (round < first_ || round >= first_ + kRoundsAhead) draw(round);
    const std::size_t at = (round - first_) * agents_;
    rows.batch = static_cast<std::uint32_t>(most_);
    rows.picks = picks_.data() + at * most_;
    rows.counts = counts_.data() + at;
  }
  /// The agents that drew one sample and no more in the round that was asked for last.
  std::vector<std::uint32_t> single(std::uint32_t round) const {
    std::vector<std::uint32_t> agents;
    for (std::uint32_t agent = 0; agent < agents_; ++agent)
      if (drawn_[(round - first_) * agents_ + agent].size() == 1) agents.push_back(agent);
    return agents;
  }

 private:
  static constexpr std::uint32_t kRoundsAhead = 16;

  void draw(std::uint32_t first) {
    first_ = first;
    pool_.parallel_for(drawn_.size(), [&](std::size_t i) {
      RngStream rng(seed_, Draw::batch, static_cast<std::uint32_t>(i % agents_),
                    first + static_cast<std::uint32_t>(i / agents_));
      sampler_.draw(rng, drawn_[i]);
    });
    most_ = 1;
    for (const auto& batch : drawn_) most_ = std::max(most_, batch.size());
    std::vector<std::uint32_t> picks(drawn_.size() * most_), counts;
    for (std::size_t i = 0; i < drawn_.size(); ++i) {
      std::ranges::copy(drawn_[i], picks.begin() + static_cast<std::ptrdiff_t>(i * most_));
      counts.push_back(static_cast<std::uint32_t>(drawn_[i].size()));
    }
    if (picks_.size() < picks.size()) picks_ = {device_, picks.size()};
    if (counts_.size() == 0) counts_ = {device_, counts.size()};
    device_.upload(picks_.data(), picks.data(), picks.size() * sizeof(std::uint32_t));
    device_.upload(counts_.data(), counts.data(), counts.size() * sizeof(std::uint32_t));
  }

  const Device& device_;
  BatchSampler sampler_;
  std::uint64_t seed_;
  std::size_t agents_;
  ThreadPool& pool_;
  std::uint32_t first_ = ~0U - kRoundsAhead;  // of the rounds that are drawn
  std::size_t most_ = 1;
  std::vector<std::vector<std::uint32_t>> drawn_;  // round x agent
  Array<std::uint32_t> picks_, counts_;
};

}  // namespace porter::cuda
