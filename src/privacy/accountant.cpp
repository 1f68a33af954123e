// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/accountant.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "adaptive.hpp"
#include "gaussian_mechanism.hpp"
#include "porter/core/error.hpp"
#include "renyi.hpp"

namespace porter {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kBothWays = {Direction::forward, Direction::reverse};
constexpr std::array kSymmetrised = {Direction::symmetrised};

using Kind = Mechanism::Kind;
using Mechanisms = std::vector<Mechanism>;

void check_delta(double delta) {
  require(delta > 0 && delta < 1, ErrorKind::usage, "delta: expected a number in (0, 1), found ",
          delta);
}

bool any_of_kind(const Mechanisms& mechanisms, Kind kind) {
  return std::any_of(mechanisms.begin(), mechanisms.end(),
                     [&](const Mechanism& m) { return m.kind == kind; });
}

bool all_gaussian(const Mechanisms& mechanisms) {
  return std::all_of(mechanisms.begin(), mechanisms.end(),
                     [](const Mechanism& m) { return m.kind == Kind::gaussian; });
}

bool without_noise(const Mechanisms& mechanisms) {
  return std::any_of(mechanisms.begin(), mechanisms.end(),
                     [](const Mechanism& m) { return std::isinf(m.mu); });
}

// Gaussian steps compose exactly: mu^2 = sum T_i mu_i^2.
double total_mu(const Mechanisms& mechanisms) {
  double squares = 0;
  for (const auto& m : mechanisms) squares += static_cast<double>(m.steps) * m.mu * m.mu;
  return std::sqrt(squares);
}

double total_steps(const Mechanisms& mechanisms) {
  double steps = 0;
  for (const auto& m : mechanisms) steps += static_cast<double>(m.steps);
  return steps;
}

// What goes to +infinity costs at most a millionth of delta.
double tail_for(const Mechanisms& mechanisms, double delta) {
  return 1e-6 * delta / total_steps(mechanisms);
}

std::span<const Direction> certified_directions(const Mechanisms& mechanisms) {
  if (any_of_kind(mechanisms, Kind::poisson_add_remove)) return kBothWays;
  return kSymmetrised;
}

Quantity epsilon_at(double delta) {
  return [delta](std::span<const LossPhase> phases) { return composed_epsilon(phases, delta); };
}

// A change of the last halving is at least what is left to the truth when the error falls at least
// like h; it falls like h^2.
double from_below(const Refined& refined) { return std::max(0.0, refined.value - refined.change); }

// The data sets behind a sampler's lower bound: x = +tau u, x' = -tau u, and all other records
// -tau u (fixed size) or 0 (Poisson). Full batches leak the same with either; the two do not mix,
// so the steps of the other sampler are left out, which can only lose.
double attack_epsilon(Mechanisms mechanisms, Kind left_out, double delta) {
  std::erase_if(mechanisms, [&](const Mechanism& m) { return m.kind == left_out; });
  if (mechanisms.empty()) return 0;
  if (all_gaussian(mechanisms)) return gaussian_epsilon(delta, total_mu(mechanisms));
  return from_below(refined(mechanisms, kBothWays, tail_for(mechanisms, delta), epsilon_at(delta)));
}

std::string method_of(const Mechanisms& mechanisms) {
  std::string method = "privacy loss distribution, FFT, connect-the-dots";
  if (any_of_kind(mechanisms, Kind::fixed_replace)) return method + ", symmetrised pair";
  if (any_of_kind(mechanisms, Kind::poisson_add_remove)) return method + ", both directions";
  return method;
}

EpsilonInterval pld_epsilon(const Mechanisms& mechanisms, double delta) {
  const auto upper = refined(mechanisms, certified_directions(mechanisms),
                             tail_for(mechanisms, delta), epsilon_at(delta));
  double lower = from_below(upper);
  if (any_of_kind(mechanisms, Kind::fixed_replace)) {
    lower = attack_epsilon(mechanisms, Kind::poisson_replace, delta);
    if (any_of_kind(mechanisms, Kind::poisson_replace))
      lower = std::max(lower, attack_epsilon(mechanisms, Kind::fixed_replace, delta));
  }
  return {std::min(lower, upper.value), upper.value, method_of(mechanisms)};
}

}  // namespace

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
  if (mechanisms.empty()) return {0, 0, "no steps"};
  if (without_noise(mechanisms)) return {kInfinity, kInfinity, "no noise"};
  if (!all_gaussian(mechanisms)) return pld_epsilon(mechanisms, delta);
  const double exact = gaussian_epsilon(delta, total_mu(mechanisms));
  return {exact, exact, "analytic Gaussian mechanism"};
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
  constexpr double kSmallestDelta = 1e-20;  // smaller ones are not resolved
  return refined(mechanisms, certified_directions(mechanisms), tail_for(mechanisms, kSmallestDelta),
                 [epsilon](std::span<const LossPhase> phases) {
                   return composed_delta(phases, epsilon);
                 })
      .value;
}

double renyi_epsilon(std::span<const PrivacyEvent> events, double delta) {
  check_delta(delta);
  const auto mechanisms = checked_mechanisms(events);
  if (mechanisms.empty()) return 0;
  if (without_noise(mechanisms)) return kInfinity;
  double best = kInfinity;
  for (const int order : renyi_orders()) {
    double divergence = 0;
    for (const auto& m : mechanisms) {
      // Both records of a replacement may be in a Poisson batch.
      const double mu = m.kind == Kind::poisson_replace ? 2 * m.mu : m.mu;
      const double q = m.kind == Kind::poisson_add_remove ? m.q : 1;
      divergence += static_cast<double>(m.steps) * renyi_sampled_gaussian(q, 1 / mu, order);
    }
    best = std::min(best, renyi_to_epsilon(divergence, order, delta));
  }
  return best;
}

struct EpsilonCurve::State {
  Mechanism mechanism;
  double delta;
  std::vector<StepLoss> losses;  // one per direction; none when the answer is analytic
};

EpsilonCurve::EpsilonCurve(const PrivacyEvent& event, double delta) {
  check_delta(delta);
  const auto mechanisms = checked_mechanisms(std::span(&event, 1));
  State state{mechanisms.empty() ? Mechanism{} : mechanisms.front(), delta, {}};
  if (!mechanisms.empty() && !without_noise(mechanisms) && !all_gaussian(mechanisms)) {
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
  const auto& [mechanism, delta, losses] = *state_;
  require(steps <= mechanism.steps, ErrorKind::usage, "steps: expected at most ", mechanism.steps,
          ", found ", steps);
  if (steps == 0) return 0;
  if (std::isinf(mechanism.mu)) return kInfinity;
  if (losses.empty())
    return gaussian_epsilon(delta, mechanism.mu * std::sqrt(static_cast<double>(steps)));
  double largest = 0;
  for (const auto& loss : losses) {
    const LossPhase phase{loss, steps};
    const auto value = composed_epsilon(std::span(&phase, 1), delta);
    assert(value);  // the longest composition fitted on this grid
    largest = std::max(largest, *value);
  }
  return largest;
}

}  // namespace porter
