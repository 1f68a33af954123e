// SPDX-License-Identifier: Apache-2.0
#include "sweep_visits.hpp"

#include <algorithm>

namespace porter {

void SweepVisits::begin(std::uint32_t round, const GossipClock& clock, SweepMask& mask) {
  const bool follows = round == round_ + 1;
  round_ = round;
  if (follows) return;
  std::ranges::fill(visited_, 0U);
  const std::uint64_t end = clock.first(round), back = 2 * mask.steps();  // a whole sweep is in it
  for (std::uint64_t step = end > back ? end - back : 1; step < end; ++step)
    for (const auto j : mask.positions(static_cast<std::uint32_t>(step)))
      visited_[j] = static_cast<std::uint32_t>((step - 1) / clock.steps + 1);
}

void SweepVisits::visit(std::span<const std::uint32_t> positions) {
  for (const auto j : positions) {
    if (visited_[j] == round_) continue;
    rounds_[j] = round_ - visited_[j];
    visited_[j] = round_;
  }
}

}  // namespace porter
