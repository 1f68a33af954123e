// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "adaptive.hpp"
#include "gaussian_mechanism.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/accountant.hpp"
#include "privacy/quick_noise.hpp"

namespace porter {
namespace {

// The event with this noise, alone.
std::vector<Mechanism> mechanism_with(PrivacyEvent event, double z) {
  event.noise_multiplier = z;
  return checked_mechanisms(std::span(&event, 1));
}

// `first` is where to begin, and where the next value should: with rare large losses the finest
// grids that serve are much coarser than the first.
double certified(const PrivacyEvent& event, double z, double delta, int& first) {
  const auto one = mechanism_with(event, z);
  if (event.steps == 1) return single_step_epsilon(one.front(), delta).above;
  const auto found = refined(one, delta, epsilon_at(delta), first);
  if (!found) return plain_epsilon(one, delta);
  first = std::min(0, found->refinement);
  return found->value;
}

// On one coarse grid: certified as well, but looser.
double coarse(const PrivacyEvent& event, double z, double delta, int& first) {
  if (event.steps == 1 || first < 0) return certified(event, z, delta, first);
  const auto one = mechanism_with(event, z);
  const auto value = on_grid(one, grid_for(one, delta, 0), epsilon_at(delta));
  return value ? *value : certified(event, z, delta, first);
}

// The largest mu with gaussian_epsilon(mu) <= target.
double gaussian_mu(double target, double delta) {
  double most = 1;
  while (gaussian_delta(target, most) <= delta) most *= 2;
  return smallest_with(0, most, [&](double mu) { return gaussian_delta(target, mu) > delta; });
}

// To 20 significant bits: z rests on the C library's functions, whose last bits differ between
// machines, and all agents of a run, and a run that is resumed, must find the same.
double rounded_up(double z) {
  int exponent = 0;
  const double bits = std::ceil(std::ldexp(std::frexp(z, &exponent), 20));
  return std::ldexp(bits, exponent - 20);
}

// Between what is too little and what is enough.
template <class Enough>
double least_enough(double low, double high, const Enough& enough) {
  constexpr double kPrecision = 1e-4;
  while (high > low * (1 + kPrecision)) {
    const double middle = geometric_mean(low, high);
    (enough(middle) ? high : low) = middle;
  }
  // The value may move against the noise by what the grids cost.
  high = rounded_up(high);
  while (!enough(high)) high = rounded_up(high * (1 + kPrecision));
  return high;
}

// z, or as little more as the margin for rounding asks for.
double enough_for(const PrivacyEvent& event, double z, double target, double delta) {
  const auto kept = [&](double noise) {
    return gaussian_epsilon(delta, total_mu(mechanism_with(event, noise))).above <= target;
  };
  double extra = 0;
  while (!kept(rounded_up(z * (1 + extra))) && extra < 1) extra = std::max(1e-12, 2 * extra);
  return rounded_up(z * (1 + extra));
}

// The end of a search: `enough` is so, `too_small` is not.
struct Bracket {
  double enough, too_small;
};

// From z up by `up` until it is enough, then down by `down` until it is not, then halving on the
// logarithmic scale until the two are within `precision`.
struct Walk {
  double z, up, down, precision;

  template <class Reached>
  Bracket operator()(const Reached& reached) const {
    double enough = z;
    while (!reached(enough)) enough *= up;
    double too_small = enough / down;
    while (reached(too_small)) enough = too_small, too_small /= down;
    while (enough > too_small * (1 + precision)) {
      const double middle = geometric_mean(enough, too_small);
      (reached(middle) ? enough : too_small) = middle;
    }
    return {enough, too_small};
  }
};

// Where the walk ends. As epsilon falls with the noise, the end follows from where epsilon crosses
// the target: it is guessed, and the two values at the end of the walk to there show whether
// rightly. Far guesses are only a means to better ones.
double end_of(const Walk& walk, Crossing& crossing) {
  constexpr double kNear = 30;  // in units of the precision
  while (true) {
    const double guess = crossing.guess();
    require(std::isfinite(guess), ErrorKind::usage,
            "epsilon: it would take more noise than a number can say; expected a larger one");
    if (!crossing.near(guess, kNear * walk.precision)) {
      crossing.reached(guess);
      continue;
    }
    const auto end = walk([&](double z) { return crossing.known(z).value_or(z >= guess); });
    const double enough = rounded_up(end.enough);
    if (crossing.reached(enough) && !crossing.reached(end.too_small)) return enough;
  }
}

double loss_scale(const PrivacyEvent& event, double z) {
  return mechanism_with(event, z).front().loss_scale();
}

// Where the central limit theorem has the target: a first guess, no bound.
double limit_guess(const PrivacyEvent& event, double enough, double mu) {
  const double root_steps = std::sqrt(static_cast<double>(event.steps));
  return smallest_with(1e-6 * enough, enough,
                       [&](double z) { return root_steps * loss_scale(event, z) <= mu; });
}

// d log(loss scale) / d log(z), which epsilon follows.
double slope_at(const PrivacyEvent& event, double z) {
  return std::log(loss_scale(event, z * 1.01) / loss_scale(event, z)) / std::log(1.01);
}

constexpr double kQuickPrecision = 5e-3;

// Whether the certified epsilon is at most the target. The accountant's own grid follows the
// deviation of the loss and is far finer than rare large losses need, so we start much coarser.
// Every grid's value holds, so the first one at or below the target decides. The distance to the
// truth falls like h^2 on fine grids and like sqrt(h) on coarse ones, so that at most 2.5 times the
// last change is left: a value that would stay above the target after 4 times that decides, too.
// So does a change of 1/4 %. The coarsest grids may stand still far from the truth; they only say
// yes.
bool keeps(PrivacyEvent event, double z, double target, double delta) {
  event.noise_multiplier = z;
  const auto mechanisms = checked_mechanisms(std::span(&event, 1));
  constexpr int kFirst = -18, kTrusted = -8, kLast = 4;
  std::optional<double> before;
  for (int refinement = kFirst; refinement <= kLast; ++refinement) {
    const auto value =
        on_grid(mechanisms, grid_for(mechanisms, delta, refinement), epsilon_at(delta));
    if (value && *value <= target) return true;
    if (before) {
      if (!value) return false;  // too fine a grid
      const double change = *before - *value;
      const bool decided = *value - 4 * change > target || change <= kQuickPrecision / 2 * *value;
      if (decided && refinement >= kTrusted) return false;
    }
    before = value;
  }
  return privacy::epsilon(event, delta).upper <= target;
}

}  // namespace

double calibrate_noise_multiplier(PrivacyEvent event, double target, double delta) {
  check_delta(delta);
  require(target > 0 && std::isfinite(target), ErrorKind::usage,
          "epsilon: expected a positive number, found ", target);
  if (event.steps == 0) return 0;
  // Without amplification z = (mu of one step at z = 1) sqrt(T) / mu; it is enough for all.
  auto mechanism = mechanism_with(event, 1).front();
  if (mechanism.kind == Mechanism::Kind::poisson_replace) mechanism.mu *= 2;
  // Without any noise the record is seen, with probability 1 - (1-q)^T, or it is not.
  const double seen = -std::expm1(static_cast<double>(event.steps) * std::log1p(-mechanism.q));
  require(seen > delta, ErrorKind::usage, "delta = ", delta, " is not below ", seen,
          ", the probability that a record is used at all: it would allow to publish records "
          "without any noise; expected a smaller delta");
  // The last bits: a quotient rounded down would miss the target.
  const double mu = gaussian_mu(target, delta);
  const double z = total_mu(std::span(&mechanism, 1)) / mu * (1 + 1e-12);
  if (mechanism.kind == Mechanism::Kind::gaussian) return enough_for(event, z, target, delta);

  constexpr double kPrecision = 5e-5;
  int grid = 0;
  Crossing coarsely([&](double noise) { return coarse(event, noise, delta, grid); }, target);
  const double first = limit_guess(event, z, mu);
  coarsely.expect_slope(slope_at(event, first));
  coarsely.reached(first);
  // Up: at rates near 1 the grid may cost more than q gains.
  const double near = end_of({z, 1.01, 2, 20 * kPrecision}, coarsely);
  Crossing finely([&](double noise) { return certified(event, noise, delta, grid); }, target);
  finely.expect_slope(coarsely.slope());
  finely.reached(near);
  return end_of({near, 1 + kPrecision, 1 + 20 * kPrecision, kPrecision}, finely);
}

double calibrate_noise_multiplier(const PrivacyEvent& event, double target, double delta,
                                  std::span<const PrivacyEvent> before) {
  // What alone needs less needs no less with others.
  const double least = calibrate_noise_multiplier(event, target, delta);
  if (before.empty() || event.steps == 0) return least;
  const double spent = privacy::epsilon(before, delta).upper;
  require(spent < target, ErrorKind::usage, "epsilon: what was released before costs ", spent,
          " alone, so nothing is left of ", target);
  std::vector<PrivacyEvent> events(before.begin(), before.end());
  events.push_back(event);
  const auto enough = [&](double z) {
    events.back().noise_multiplier = z;
    const auto all = checked_mechanisms(events);
    if (all_gaussian(all)) return gaussian_epsilon(delta, total_mu(all)).above <= target;
    const auto found = refined(all, delta, epsilon_at(delta));
    return (found ? found->value : plain_epsilon(all, delta)) <= target;
  };
  constexpr double kMost = 1e12;
  double high = least, low = least;
  while (!enough(high)) {
    low = high;
    high *= high < 2 * least ? 1.1 : 2;
    require(high < kMost * least, ErrorKind::usage, "epsilon: what was released before leaves ",
            "too little of ", target, " for any noise");
  }
  return least_enough(low, high, enough);
}

namespace {

// Where the central limit theorem has them: like steps whose mean of 1/z^2 is the same.
double like_steps_scale(std::span<const PrivacyEvent> phases, double target, double delta) {
  auto like = phases.front();
  like.steps = 0;
  double inverse_squares = 0;
  for (const auto& phase : phases) {
    like.steps += phase.steps;
    inverse_squares +=
        static_cast<double>(phase.steps) / (phase.noise_multiplier * phase.noise_multiplier);
  }
  const double mean = std::sqrt(static_cast<double>(like.steps) / inverse_squares);
  return calibrate_noise_multiplier(like, target, delta) / mean;
}

}  // namespace

double calibrate_noise_scale(std::span<const PrivacyEvent> phases, double target, double delta,
                             std::span<const PrivacyEvent> before) {
  require(!phases.empty() && std::ranges::all_of(phases,
                                                 [](const auto& phase) {
                                                   return phase.noise_multiplier > 0 &&
                                                          phase.steps > 0;
                                                 }),
          ErrorKind::usage, "phases: expected some, with steps and noise multipliers above 0");
  if (phases.size() == 1)
    return calibrate_noise_multiplier(phases.front(), target, delta, before) /
           phases.front().noise_multiplier;
  std::vector<PrivacyEvent> events(before.begin(), before.end());
  events.insert(events.end(), phases.begin(), phases.end());
  const auto enough = [&](double scale) {
    for (std::size_t i = 0; i < phases.size(); ++i)
      events[before.size() + i].noise_multiplier = scale * phases[i].noise_multiplier;
    const auto all = checked_mechanisms(events);
    if (all_gaussian(all)) return gaussian_epsilon(delta, total_mu(all)).above <= target;
    const auto found = refined(all, delta, epsilon_at(delta));
    return (found ? found->value : plain_epsilon(all, delta)) <= target;
  };
  if (!before.empty()) {
    const double spent = privacy::epsilon(before, delta).upper;
    require(spent < target, ErrorKind::usage, "epsilon: what was released before costs ", spent,
            " alone, so nothing is left of ", target);
  }
  constexpr double kMost = 1e12, kNear = 1.01;
  const double guess = like_steps_scale(phases, target, delta);
  double high = guess, low = guess / kNear, step = kNear;
  while (!enough(high)) {
    low = high;
    high *= step;
    step = std::min(2.0, step * step);
    require(high < kMost * guess, ErrorKind::usage, "epsilon: expected a larger one than ", target,
            "; it would take more noise than a number can say");
  }
  for (step = kNear; low < high && enough(low); step = std::min(2.0, step * step)) {
    high = low;
    low /= step;
  }
  return least_enough(low, high, enough);
}

double quick_noise_multiplier(const PrivacyEvent& event, double target, double delta,
                              double at_least) {
  auto unamplified = event;
  unamplified.sampler = Sampler::full;
  // Sampling never needs more noise than that.
  const double most = calibrate_noise_multiplier(unamplified, target, delta);
  if (event.sampler == Sampler::full || event.batch == event.records) return most;
  const double rate = static_cast<double>(event.batch) / static_cast<double>(event.records);
  const double seen = -std::expm1(static_cast<double>(event.steps) * std::log1p(-rate));
  require(seen > delta, ErrorKind::usage, "delta = ", delta, " is not below ", seen,
          ", the probability that ", event.steps, " rounds with batch ", event.batch,
          " use a record at all: they could publish it without noise; expected a smaller delta");

  const auto enough = [&](double z) { return keeps(event, z, target, delta); };
  double high = std::min(at_least > 0 ? at_least : 1.0, most), low = high;
  if (enough(high)) {
    if (at_least > 0) return high;
    while (enough(low /= 2)) high = low;
  } else {
    const double factor = at_least > 0 ? 1.25 : 2;
    while ((high *= factor) < most && !enough(high)) low = high;
    high = std::min(high, most);
  }
  while (high > low * (1 + kQuickPrecision)) {
    const double middle = std::sqrt(low * high);
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace porter
