// SPDX-License-Identifier: Apache-2.0
#include "svrg_privacy.hpp"

#include <array>
#include <cmath>

namespace porter {
namespace {

constexpr std::array kShares = {0.1, 0.3, 0.5, 0.7, 0.9};

EpsilonInterval with_share(const BatchSampler& sampler, Adjacency adjacency, double sigma,
                           double tau, std::uint64_t releases, double delta, double share) {
  const BatchSampler all(Sampler::full, sampler.records(), sampler.records());
  const std::array events = {
      sampler.event(adjacency, std::sqrt(1 - share) * sigma, 2 * tau, releases),
      all.event(adjacency, std::sqrt(share) * sigma, tau, releases)};
  return privacy::epsilon(events, delta);
}

}  // namespace

EpsilonInterval svrg_epsilon(const BatchSampler& sampler, Adjacency adjacency, double sigma,
                             double tau, std::uint64_t releases, double delta) {
  auto best = with_share(sampler, adjacency, sigma, tau, releases, delta, kShares[0]);
  for (std::size_t i = 1; i < kShares.size(); ++i) {
    const auto other = with_share(sampler, adjacency, sigma, tau, releases, delta, kShares[i]);
    if (other.upper < best.upper) best = other;
  }
  best.lower = 0;  // an attack on the two parts is none on their sum
  best.method += "; bound by releasing both parts";
  return best;
}

double svrg_sigma(const BatchSampler& sampler, Adjacency adjacency, double tau,
                  std::uint64_t releases, double target, double delta) {
  const auto fits = [&](double sigma) {
    return svrg_epsilon(sampler, adjacency, sigma, tau, releases, delta).upper <= target;
  };
  double high = tau / static_cast<double>(sampler.batch());
  while (!fits(high)) high *= 2;
  double low = high / 2;
  while (fits(low)) low /= 2;
  high = 2 * low;
  while (high > low * (1 + 1e-3)) {
    const double middle = std::sqrt(low * high);
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace porter
