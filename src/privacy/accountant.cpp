// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/accountant.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "adaptive.hpp"
#include "bisect.hpp"
#include "gaussian_mechanism.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kBothWays = {Direction::forward, Direction::reverse};

using Kind = Mechanism::Kind;
using Mechanisms = std::vector<Mechanism>;

double from_below(const Refined& refined) {
  return std::max(0.0, refined.value - refined.uncertainty);
}

// The data sets behind a sampler's lower bound: x = +tau u, x' = -tau u, and all other records
// -tau u (fixed size) or 0 (Poisson). Full batches leak the same with either; the two do not mix,
// so the steps of the other sampler are left out, which can only lose.
double attack_epsilon(Mechanisms mechanisms, Kind left_out, double delta) {
  std::erase_if(mechanisms, [&](const Mechanism& m) { return m.kind == left_out; });
  if (mechanisms.empty()) return 0;
  if (all_gaussian(mechanisms)) return gaussian_epsilon(delta, total_mu(mechanisms));
  return from_below(refined(mechanisms, kBothWays, tail_for(mechanisms, delta), epsilon_at(delta)));
}

std::string method_of(std::span<const Mechanism> mechanisms) {
  const std::string method = "privacy loss distribution, FFT, connect-the-dots";
  if (any_of_kind(mechanisms, Kind::fixed_replace)) return method + ", symmetrised pair";
  if (any_of_kind(mechanisms, Kind::poisson_add_remove)) return method + ", both directions";
  return method;
}

double single_step_delta(const Mechanism& mechanism, double epsilon) {
  const auto pair = mechanism.pair();
  return std::max(pair.delta(epsilon), pair.reverse_delta(epsilon));
}

// The unamplified step bounds the search.
double single_step_epsilon(const Mechanism& mechanism, double delta) {
  const double mu = (mechanism.kind == Kind::poisson_replace ? 2 : 1) * mechanism.mu;
  return smallest_with(0, gaussian_epsilon(delta, mu),
                       [&](double e) { return single_step_delta(mechanism, e) <= delta; });
}

}  // namespace

EpsilonInterval interval_below(const Refined& upper, std::span<const Mechanism> mechanisms,
                               double delta) {
  double lower = from_below(upper);
  if (any_of_kind(mechanisms, Kind::fixed_replace)) {
    const Mechanisms all(mechanisms.begin(), mechanisms.end());
    lower = attack_epsilon(all, Kind::poisson_replace, delta);
    if (any_of_kind(mechanisms, Kind::poisson_replace))
      lower = std::max(lower, attack_epsilon(all, Kind::fixed_replace, delta));
  }
  return {std::min(lower, upper.value), upper.value, method_of(mechanisms)};
}

double noise_multiplier(double sigma, std::size_t batch, double clip) {
  require(sigma >= 0 && std::isfinite(sigma), ErrorKind::usage,
          "sigma: expected a finite number >= 0, found ", sigma);
  require(clip > 0 && std::isfinite(clip), ErrorKind::usage,
          "clip: expected a positive number, found ", clip);
  return sigma * static_cast<double>(batch) / clip;
}

EpsilonInterval epsilon(std::span<const PrivacyEvent> events, double delta) {
  check_delta(delta);
  const auto mechanisms = checked_mechanisms(events);
  const auto exactly = [](double value, const char* method) {
    return EpsilonInterval{value, value, method};
  };
  if (mechanisms.empty()) return exactly(0, "no steps");
  if (without_noise(mechanisms)) return exactly(kInfinity, "no noise");
  if (all_gaussian(mechanisms))
    return exactly(gaussian_epsilon(delta, total_mu(mechanisms)), "analytic Gaussian mechanism");
  if (total_steps(mechanisms) == 1)
    return exactly(single_step_epsilon(mechanisms.front(), delta), "analytic single step");
  const auto upper = refined(mechanisms, certified_directions(mechanisms),
                             tail_for(mechanisms, delta), epsilon_at(delta));
  return interval_below(upper, mechanisms, delta);
}

EpsilonInterval epsilon(const PrivacyEvent& event, double delta) {
  return epsilon(std::span(&event, 1), delta);
}

double delta(std::span<const PrivacyEvent> events, double epsilon) {
  require(epsilon >= 0 && std::isfinite(epsilon), ErrorKind::usage,
          "epsilon: expected a finite number >= 0, found ", epsilon);
  const auto mechanisms = checked_mechanisms(events);
  if (mechanisms.empty()) return 0;
  if (without_noise(mechanisms)) return 1;
  if (all_gaussian(mechanisms)) return gaussian_delta(epsilon, total_mu(mechanisms));
  if (total_steps(mechanisms) == 1) return single_step_delta(mechanisms.front(), epsilon);
  constexpr double kSmallestDelta = 1e-20;  // smaller ones are not resolved
  const auto delta_at_epsilon = [epsilon](std::span<const LossPhase> phases) {
    return composed_delta(phases, epsilon);
  };
  return refined(mechanisms, certified_directions(mechanisms), tail_for(mechanisms, kSmallestDelta),
                 delta_at_epsilon)
      .value;
}

}  // namespace porter
