// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cmath>

#include "adaptive.hpp"
#include "gaussian_mechanism.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/accountant.hpp"

namespace porter {

struct EpsilonCurve::State {
  PrivacyEvent event;
  Mechanism mechanism;
  double delta;
  std::vector<StepLoss> losses;  // one per direction; none when the answer is analytic
};

EpsilonCurve::EpsilonCurve(const PrivacyEvent& event, double delta) {
  check_delta(delta);
  const auto mechanisms = checked_mechanisms(std::span(&event, 1));
  State state{event, mechanisms.empty() ? Mechanism{} : mechanisms.front(), delta, {}};
  if (!without_noise(mechanisms) && !all_gaussian(mechanisms)) {
    const auto directions = certified_directions(mechanisms);
    const double tail = tail_for(mechanisms, delta);
    const int refinement = refined(mechanisms, directions, tail, epsilon_at(delta)).refinement;
    for (const auto direction : directions)
      state.losses.push_back(
          state.mechanism.step_loss(direction, grid_for(mechanisms, tail, refinement)));
  }
  state_ = std::make_unique<const State>(std::move(state));
}

EpsilonCurve::~EpsilonCurve() = default;
EpsilonCurve::EpsilonCurve(EpsilonCurve&&) noexcept = default;
EpsilonCurve& EpsilonCurve::operator=(EpsilonCurve&&) noexcept = default;

double EpsilonCurve::upper(std::uint64_t steps) const {
  const auto& [event, mechanism, delta, losses] = *state_;
  require(steps <= mechanism.steps, ErrorKind::usage, "steps: expected at most ", mechanism.steps,
          ", found ", steps);
  if (steps == 0) return 0;
  if (losses.empty()) {
    auto shorter = mechanism;
    shorter.steps = steps;
    return gaussian_epsilon(delta, total_mu(std::span(&shorter, 1)));
  }
  double largest = 0;
  for (const auto& loss : losses) {
    const LossPhase phase{loss, steps};
    const auto value = composed_epsilon(std::span(&phase, 1), delta);
    if (!value) {  // with next to no noise the grid that fits all steps may not fit few
      PrivacyEvent few = event;
      few.steps = steps;
      return epsilon(few, delta).upper;
    }
    largest = std::max(largest, *value);
  }
  return largest;
}

}  // namespace porter
