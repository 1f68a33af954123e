// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "adaptive.hpp"
#include "core/memo.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/accountant.hpp"

namespace porter {
namespace {

// The curve's grid may cost so much of epsilon.
constexpr double kCoarse = 1.005;

constexpr int kMaxCoarser = 8;  // times that the grid is doubled

// Counts of steps are rounded up to so many leading bits: a run that is evaluated in every round
// then needs at most 32 compositions each time its length doubles, and shows 3 % of the rounds too
// many. Up to 64 steps nothing is rounded.
constexpr int kBits = 6;

std::uint64_t rounded_up(std::uint64_t steps) {
  const int extra = std::max(0, static_cast<int>(std::bit_width(steps)) - kBits);
  return ((steps - 1) >> extra << extra) + (std::uint64_t{1} << extra);
}

}  // namespace

struct EpsilonCurve::State {
  std::vector<PrivacyEvent> events;   // those before, and at last the one whose steps are counted
  std::vector<Mechanism> mechanisms;  // the same; those without steps are not there
  std::uint64_t most = 0;             // steps of the last
  double delta = 0;
  Refined end;                                 // epsilon after all steps
  std::vector<std::vector<LossPhase>> losses;  // per direction; none when no grid is needed
  Memo<std::uint64_t, double> known;

  double exact(std::uint64_t steps) const {
    auto shorter = events;
    shorter.back().steps = steps;
    return privacy::epsilon(shorter, delta).upper;
  }

  // Coarser grids bound from above as well: the coarsest that is good enough after all steps.
  void discretise() {
    const auto found = refined(mechanisms, delta, epsilon_at(delta));
    if (!found) return;
    end = *found;
    int refinement = end.refinement;
    const auto good_enough = [&](int coarser) {
      const auto value =
          on_grid(mechanisms, grid_for(mechanisms, delta, coarser), epsilon_at(delta));
      return value && *value <= kCoarse * end.value;
    };
    for (int i = 0; i < kMaxCoarser && good_enough(refinement - 1); ++i) --refinement;
    const auto grid = grid_for(mechanisms, delta, refinement);
    for (const auto direction : certified_directions(mechanisms))
      losses.push_back(*phases_of(
          mechanisms, [&](const Mechanism& one) { return one.step_loss(direction, grid); }));
  }

  double composed(std::uint64_t steps) const {
    double largest = 0;
    for (auto phases : losses) {
      phases.back().steps = steps;
      const auto value = composed_epsilon(phases, delta);
      if (!value || !(*value >= 0))
        return exact(steps);  // with next to no noise this grid may not fit few steps
      largest = std::max(largest, *value);
    }
    return std::min(largest, end.value);
  }
};

EpsilonCurve::EpsilonCurve(const PrivacyEvent& event, double delta,
                           std::span<const PrivacyEvent> before)
    : state_(std::make_unique<State>()) {
  check_delta(delta);
  auto& state = *state_;
  state.events.assign(before.begin(), before.end());
  state.events.push_back(event);
  state.mechanisms = checked_mechanisms(state.events);
  state.most = event.steps;
  state.delta = delta;
  if (event.steps > 0 && total_steps(state.mechanisms) > 1 && !without_noise(state.mechanisms) &&
      !all_gaussian(state.mechanisms))
    state.discretise();
}

EpsilonCurve::~EpsilonCurve() = default;
EpsilonCurve::EpsilonCurve(EpsilonCurve&&) noexcept = default;
EpsilonCurve& EpsilonCurve::operator=(EpsilonCurve&&) noexcept = default;

double EpsilonCurve::upper(std::uint64_t steps) const {
  auto& state = *state_;
  const auto most = state.most;
  require(steps <= most, ErrorKind::usage, "steps: expected at most ", most, ", found ", steps);
  if (steps <= 1 || state.losses.empty()) return state.exact(steps);
  if (rounded_up(steps) >= most) return state.end.value;
  return state.known.get(rounded_up(steps), [&] { return state.composed(rounded_up(steps)); });
}

double EpsilonCurve::exact(std::uint64_t steps) const {
  return steps == state_->most && !state_->losses.empty() ? state_->end.value
                                                          : state_->exact(steps);
}

EpsilonInterval EpsilonCurve::interval() const {
  if (state_->losses.empty()) return privacy::epsilon(state_->events, state_->delta);
  return interval_below(state_->end, state_->mechanisms, state_->delta);
}

}  // namespace porter
