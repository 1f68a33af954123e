// SPDX-License-Identifier: Apache-2.0
#include "compose.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "search.hpp"
#include "tilted_sum.hpp"

namespace porter {
namespace {

constexpr double kHuge = 1e300;

// Of delta, for errors that are counted in it.
constexpr double kNegligible = 1e-4, kSmall = 1e-3;

template <class Function>
double best_tilt(std::span<const LossPhase> phases, const Function& objective) {
  const double step = phases.front().loss.step;
  return minimise_on_log_scale(
      [&](double t) { return objective(t, log_moment(phases, t) + log_largest_weight(t)); },
      1e-9 / step, 30 / step);
}

// Without a tilt the error is about 1e-10 for the window and T times 3e-13 for the transform: a
// large delta does not notice.
bool needs_no_tilt(std::span<const LossPhase> phases, double delta) {
  double error = 1e-10;
  for (const auto& phase : phases) error += 3e-13 * static_cast<double>(phase.steps);
  return error <= kNegligible * delta;
}

// The epsilon of Chernoff's bound at the best tilt: valid, and some per cent too large.
struct Bound {
  double tilt, epsilon;
};
Bound chernoff(std::span<const LossPhase> phases, double delta) {
  for (const auto& [loss, steps] : phases) delta -= static_cast<double>(steps) * loss.infinite;
  const auto at = [&](double t, double log_bound) {
    return (log_bound + log_moment_error(phases, t) - std::log(delta)) / t;
  };
  const double tilt = best_tilt(phases, at);
  const double epsilon =
      at(tilt, log_moment(phases, tilt) + log_largest_weight(tilt)) + loss_error(phases);
  if (std::isnan(epsilon)) return {tilt, kInfinity};
  return {tilt, std::max(0.0, epsilon)};
}

// Where rare large losses decide, the best tilt of the bound may look past the answer or need a
// wide window; smaller ones are tried then. Each answer is an upper bound, so the order decides
// nothing but time. Left out are those at which the error of the window alone is too large, even at
// the epsilon of the bound.
std::vector<double> useful_tilts(std::span<const LossPhase> phases, double delta) {
  auto [tilt, epsilon] = chernoff(phases, delta);
  std::vector<double> tilts;
  for (int i = 0; i < 12; ++i, tilt /= 2) {
    const double log_share =
        log_moment(phases, tilt) - tilt * epsilon + log_largest_weight(tilt) - std::log(delta);
    if (kOutside * std::exp(log_share) <= kSmall) tilts.push_back(tilt);
  }
  return tilts;
}

// The sum of the steps' delta(0): at least that of all together.
double total_variation(std::span<const LossPhase> phases) {
  double sum = 0;
  for (const auto& [loss, steps] : phases) {
    double one = loss.infinite;
    for (const auto& [k, mass] : loss.nodes)
      if (k > 0) one -= mass * std::expm1(-loss.step * static_cast<double>(k));
    sum += static_cast<double>(steps) * (one * (1 + loss.curve_error) + loss.loss_error());
  }
  return sum;
}

// Walks down from the top of the window until delta is exceeded, or to 0. With D(e) the weighted
// sum and B(e) = sum_{s >= e} r(s) exp(-(t+1)(s-e)):
//   D(e - h) = exp(-t h) (D(e) + (1 - exp(-h)) B(e)),   B(e - h) = r(e-h) + exp(-(t+1) h) B(e).
// Only sums of positive terms. Between grid points delta is linear in exp(e), and so the chord of
// two upper bounds is one. Nothing when the window does not contain the answer.
struct Found {
  double epsilon;
  double error_share;  // of delta that is not delta but error
};
std::optional<Found> find_epsilon(const TiltedSum& sum, double delta) {
  const double decay = std::exp(-sum.tilt * sum.step);
  const double inner = std::exp(-(sum.tilt + 1) * sum.step), outer = -std::expm1(-sum.step);
  const double allowed = std::log((delta - sum.infinite) / (1 + sum.slack)) - sum.log_scale;
  const auto bound_over_allowed = [&](double d, double e) {
    return std::min(kHuge, (d + sum.error) * std::exp(-sum.tilt * e - allowed));
  };
  double d = 0, b = sum.masses.back(), above = 0;
  const auto top = static_cast<std::int64_t>(sum.masses.size()) - 1;
  for (auto j = top;; --j) {
    const double e = sum.step * static_cast<double>(sum.first + j);
    const double here = bound_over_allowed(d, e);
    if (!(here <= 1)) {
      if (j == top) return std::nullopt;  // the window ends too low
      const double part = (here - 1) / (here - above);
      const double above_e = std::log1p(part * std::expm1(sum.step));
      return Found{std::max(0.0, e + std::min(sum.step, above_e) + sum.loss_error),
                   bound_over_allowed(0, e)};
    }
    if (e <= -sum.loss_error) return Found{0, 0};
    if (j == 0) return std::nullopt;  // the window begins too high
    above = here;
    d = decay * (d + outer * b);
    b = sum.masses[static_cast<std::size_t>(j - 1)] + inner * b;
  }
}

// The same from below: the error is taken off, and what lies at infinity is left out. `lowest` when
// there is no better one; nothing when the window begins too high.
std::optional<double> find_epsilon_below(const TiltedSum& sum, double delta, double lowest) {
  const double decay = std::exp(-sum.tilt * sum.step);
  const double inner = std::exp(-(sum.tilt + 1) * sum.step), outer = -std::expm1(-sum.step);
  const double log_kept = std::log1p(-sum.slack) + sum.log_scale - std::log(delta);
  const auto bound_over_delta = [&](double d, double e) {
    return (d - sum.error) * std::exp(std::min(700.0, log_kept - sum.tilt * e));
  };
  double d = 0, b = sum.masses.back(), above = 0;
  for (auto j = static_cast<std::int64_t>(sum.masses.size()) - 1; j >= 0; --j) {
    const double e = sum.step * static_cast<double>(sum.first + j);
    if (e < lowest) return lowest;
    const double here = bound_over_delta(d, e);
    if (here > 1) {
      const double part = std::clamp((here - 1) / (here - above), 0.0, 1.0);
      return e + std::log1p(part * std::expm1(sum.step)) - 2 * sum.loss_error;
    }
    if (j == 0) break;
    above = here;
    d = decay * (d + outer * b);
    b = sum.masses[static_cast<std::size_t>(j - 1)] + inner * b;
  }
  return std::nullopt;
}

// The bound at a grid point.
double delta_at(const TiltedSum& sum, std::int64_t k) {
  const double e = sum.step * static_cast<double>(k);
  double d = 0;
  for (std::size_t j = 0; j < sum.masses.size(); ++j) {
    const double x = sum.step * static_cast<double>(sum.first + static_cast<std::int64_t>(j) - k);
    if (x > 0) d += sum.masses[j] * std::exp(-sum.tilt * x) * -std::expm1(-x);
  }
  const double finite = std::exp(sum.log_scale - sum.tilt * e) * (d + sum.error);
  return std::min(1.0, (1 + sum.slack) * finite + sum.infinite);
}

}  // namespace

std::optional<double> composed_epsilon(std::span<const LossPhase> phases, double delta) {
  if (total_variation(phases) <= delta) return 0.0;
  auto tilts = needs_no_tilt(phases, delta) ? std::vector{0.0} : useful_tilts(phases, delta);
  std::optional<Found> best;
  bool too_fine = false;
  for (const std::size_t most : {kMaxGridPoints / 4, kMaxGridPoints}) {
    std::vector<double> wide;  // what needs a larger window
    for (const double tilt : tilts) {
      const auto sum = tilted_sum(phases, tilt, most);
      if (!sum) wide.push_back(tilt);
      const auto found = sum ? find_epsilon(*sum, delta) : std::nullopt;
      if (!found) continue;
      if (found->error_share <= kNegligible) return found->epsilon;
      // The error is convex in the tilt: once it grows, it grows for all smaller ones.
      const bool past_the_best = best && found->error_share > best->error_share;
      if (!best || found->epsilon < best->epsilon) best = found;
      if (past_the_best) break;
    }
    too_fine = too_fine || !wide.empty();
    tilts = std::move(wide);
  }
  // On a coarser grid the window of a better tilt fits.
  if (too_fine && !(best && best->error_share <= kSmall)) return std::nullopt;
  const double bound = chernoff(phases, delta).epsilon;
  return best ? std::min(best->epsilon, bound) : bound;
}

double chernoff_epsilon(std::span<const LossPhase> phases, double delta) {
  return chernoff(phases, delta).epsilon;
}

double composed_epsilon_below(std::span<const LossPhase> phases, double delta) {
  const auto tilts = needs_no_tilt(phases, delta) ? std::vector{0.0} : useful_tilts(phases, delta);
  double offset = 0;
  for (const auto& [loss, steps] : phases) offset += static_cast<double>(steps) * loss.offset;
  double best = -offset;
  for (const double tilt : tilts) {
    const auto sum = tilted_sum(phases, tilt, kMaxGridPoints);
    const auto found =
        sum && sum->slack < 1 ? find_epsilon_below(*sum, delta, -offset) : std::nullopt;
    // Smaller tilts are for answers that the best one looks past.
    if (found && (*found < best || (*found == best && best > -offset))) break;
    best = found.value_or(best);
  }
  return std::max(0.0, best + offset);
}

std::optional<double> composed_delta(std::span<const LossPhase> phases, double epsilon) {
  const double best =
      best_tilt(phases, [&](double t, double log_bound) { return log_bound - t * epsilon; });
  const auto sum = tilted_sum(phases, best, kMaxGridPoints);
  if (!sum) return std::nullopt;
  epsilon -= sum->loss_error;
  const double below = std::floor(epsilon / sum->step);
  if (!(std::abs(below) < 0x1p52)) return std::nullopt;
  const auto k = static_cast<std::int64_t>(below);
  const double part = std::expm1(epsilon - below * sum->step) / std::expm1(sum->step);
  return (1 - part) * delta_at(*sum, k) + part * delta_at(*sum, k + 1);
}

}  // namespace porter
