// SPDX-License-Identifier: Apache-2.0
#include "round_clock.hpp"

#include <algorithm>
#include <limits>

#include "core/exact_math.hpp"
#include "porter/core/rng.hpp"

namespace porter {

RoundClock::RoundClock(const Pace& pace, std::size_t agents, std::uint64_t seed,
                       std::uint32_t gossip)
    : pace_(pace), seed_(seed), gossip_(gossip), T_(agents, 1) {}

double RoundClock::gradient_seconds(std::uint32_t agent, std::uint32_t round) const {
  if (pace_.straggling == 0) return pace_.compute;
  const double u = RngStream(seed_, Draw::compute, agent, round).uniform();
  return pace_.compute * (1 - pace_.straggling * exact_log(1 - u));
}

double RoundClock::step(std::uint32_t step, std::span<const std::uint32_t> present,
                        std::span<const std::vector<MixingWeight>> incoming,
                        std::span<const std::uint64_t> sent_bytes) {
  const bool first = (step - 1) % gossip_ == 0;
  const std::uint32_t round = (step - 1) / gossip_ + 1;
  std::vector<double> arrival(T_.agents());
  for (const auto i : present) {
    const double begin = at(i);
    if (first) at(i) += gradient_seconds(i, round);
    const double sending =
        pace_.bandwidth > 0 ? static_cast<double>(sent_bytes[i]) / pace_.bandwidth : 0;
    arrival[i] = (first && pace_.overlaps ? begin : at(i)) + sending + pace_.latency;
  }
  double earliest = std::numeric_limits<double>::infinity(), latest = 0;
  for (const auto i : present) {
    if (!incoming.empty())
      for (const auto& [sender, weight] : incoming[i])
        if (sender != i) at(i) = std::max(at(i), arrival[sender]);
    earliest = std::min(earliest, at(i));
  }
  for (std::size_t i = 0; i < T_.agents(); ++i) {
    if (!present.empty() && !std::ranges::binary_search(present, i))
      at(i) = std::max(at(i), earliest);
    latest = std::max(latest, at(i));
  }
  return latest;
}

}  // namespace porter
