// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/accountant.hpp"

#include <algorithm>
#include <cmath>

#include "adaptive.hpp"
#include "gaussian_mechanism.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr const char* kPlainMethod =
    "bound without a transform: too many steps or too little noise for one";

using Kind = Mechanism::Kind;
using Mechanisms = std::vector<Mechanism>;

// The larger of both directions of the explicit pairs, on a grid.
double epsilon_below(std::span<const Mechanism> mechanisms, const GridSpec& grid, double delta) {
  double largest = 0;
  for (const auto direction : {Direction::forward, Direction::reverse}) {
    const auto phases = phases_of(
        mechanisms, [&](const Mechanism& m) { return m.inner_step_loss(direction, grid); });
    if (!phases) return 0;
    largest = std::max(largest, composed_epsilon_below(*phases, delta));
    if (!any_of_kind(mechanisms, Kind::poisson_add_remove) &&
        !any_of_kind(mechanisms, Kind::fixed_replace))
      break;  // their own mirror image
  }
  return largest;
}

// The data sets behind a sampler's lower bound: x = +tau u, x' = -tau u, and all other records
// -tau u (fixed size) or 0 (Poisson). Full batches leak the same with either; the two do not mix,
// so the steps of the other sampler are left out, which can only lose.
double attack_epsilon(Mechanisms mechanisms, Kind left_out, int refinement, double delta) {
  std::erase_if(mechanisms, [&](const Mechanism& m) { return m.kind == left_out; });
  if (mechanisms.empty()) return 0;
  if (all_gaussian(mechanisms)) return gaussian_epsilon(delta, total_mu(mechanisms)).below;
  return epsilon_below(mechanisms, grid_for(mechanisms, delta, refinement), delta);
}

std::string method_of(std::span<const Mechanism> mechanisms) {
  const std::string method = "privacy loss distribution, FFT, connect-the-dots";
  if (any_of_kind(mechanisms, Kind::fixed_replace)) return method + ", symmetrised pair";
  if (any_of_kind(mechanisms, Kind::poisson_add_remove)) return method + ", both directions";
  return method;
}

// The probability that a record is used at all, which bounds delta at every epsilon.
double used_at_most(std::span<const Mechanism> mechanisms) {
  double sum = 0;
  for (const auto& m : mechanisms) sum += static_cast<double>(m.steps) * m.q;
  return sum * (1 + 1e-12);
}

}  // namespace

// The step without amplification bounds the search.
Bounds single_step_epsilon(const Mechanism& mechanism, double delta) {
  const double most = gaussian_epsilon(delta, unamplified_mu(std::span(&mechanism, 1))).above;
  if (!std::isfinite(most)) return {0, most};
  return epsilon_between(most, delta, [&](double e) { return mechanism.pair().delta(e); });
}

EpsilonInterval interval_below(const Refined& upper, std::span<const Mechanism> mechanisms,
                               double delta) {
  if (upper.value == 0) return {0, 0, method_of(mechanisms)};
  const Mechanisms all(mechanisms.begin(), mechanisms.end());
  double lower = attack_epsilon(all, Kind::poisson_replace, upper.refinement, delta);
  if (any_of_kind(mechanisms, Kind::poisson_replace))
    lower = std::max(lower, attack_epsilon(all, Kind::fixed_replace, upper.refinement, delta));
  return {std::min(lower, upper.value), upper.value, method_of(mechanisms)};
}

double noise_multiplier(double sigma, std::size_t batch, double clip) {
  require(sigma >= 0 && std::isfinite(sigma), ErrorKind::usage,
          "sigma: expected a finite number >= 0, found ", sigma);
  require(clip > 0 && std::isfinite(clip), ErrorKind::usage,
          "clip: expected a positive number, found ", clip);
  return sigma * static_cast<double>(batch) / clip;
}

EpsilonInterval privacy::epsilon(std::span<const PrivacyEvent> events, double delta) {
  check_delta(delta);
  const auto mechanisms = checked_mechanisms(events);
  const auto exactly = [](Bounds bounds, const char* method) {
    return EpsilonInterval{bounds.below, bounds.above, method};
  };
  if (mechanisms.empty()) return exactly({0, 0}, "no steps");
  if (without_noise(mechanisms)) return exactly({kInfinity, kInfinity}, "no noise");
  if (all_gaussian(mechanisms))
    return exactly(gaussian_epsilon(delta, total_mu(mechanisms)), "analytic Gaussian mechanism");
  if (total_steps(mechanisms) == 1)
    return exactly(single_step_epsilon(mechanisms.front(), delta), "analytic single step");
  if (used_at_most(mechanisms) <= delta)
    return exactly({0, 0}, "delta allows for every use of a record");
  const auto upper = refined(mechanisms, delta, epsilon_at(delta));
  if (!upper) return exactly({0, plain_epsilon(mechanisms, delta)}, kPlainMethod);
  return interval_below(*upper, mechanisms, delta);
}

EpsilonInterval privacy::epsilon(const PrivacyEvent& event, double delta) {
  return epsilon(std::span(&event, 1), delta);
}

double privacy::delta(std::span<const PrivacyEvent> events, double epsilon) {
  require(epsilon >= 0 && std::isfinite(epsilon), ErrorKind::usage,
          "epsilon: expected a finite number >= 0, found ", epsilon);
  const auto mechanisms = checked_mechanisms(events);
  if (mechanisms.empty()) return 0;
  if (without_noise(mechanisms)) return 1;
  if (all_gaussian(mechanisms))
    return gaussian_delta_bounds(epsilon, epsilon, total_mu(mechanisms)).above;
  if (total_steps(mechanisms) == 1) return mechanisms.front().pair().delta(epsilon).above;
  constexpr double kSmallestDelta = 1e-20;  // smaller ones are not resolved
  const auto delta_at_epsilon = [epsilon](std::span<const LossPhase> phases) {
    return composed_delta(phases, epsilon);
  };
  const auto found = refined(mechanisms, kSmallestDelta, delta_at_epsilon);
  const double plain = gaussian_delta_bounds(epsilon, epsilon, unamplified_mu(mechanisms)).above;
  return found ? std::min(found->value, plain) : plain;
}

}  // namespace porter
