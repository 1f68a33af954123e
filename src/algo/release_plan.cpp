// SPDX-License-Identifier: Apache-2.0
// What an agent's gradient of a round is drawn, clipped and noised with.
#include <algorithm>

#include "porter/algo/gradients.hpp"

namespace porter {

std::size_t ReleasePlan::phase(std::uint32_t round) const {
  const auto found = std::ranges::lower_bound(ends, round);
  return std::min<std::size_t>(static_cast<std::size_t>(found - ends.begin()), phases() - 1);
}

const BatchSampler& GradientEstimator::sampler_of(std::size_t agent) const {
  const auto& plan = options_.plan;
  return plan && !plan->samplers.empty() ? plan->samplers[agent] : options_.sampler;
}

double GradientEstimator::noise_of(std::size_t agent, std::uint32_t round) const {
  const auto& plan = options_.plan;
  if (!plan || plan->noise.empty()) return options_.noise_stddev;
  return plan->noise[agent * plan->phases() + plan->phase(round)];
}

const SecureNoise& GradientEstimator::secure_of(std::size_t agent, std::uint32_t round) const {
  const auto& plan = options_.plan;
  if (!plan || plan->secure.empty()) return *options_.secure;
  return *plan->secure[agent * plan->phases() + plan->phase(round)];
}

const std::function<double(double)>& GradientEstimator::factor_of(std::uint32_t round) const {
  return factors_[factors_.size() == 1 ? 0 : options_.plan->phase(round)];
}

}  // namespace porter
