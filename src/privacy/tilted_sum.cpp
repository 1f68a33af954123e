// SPDX-License-Identifier: Apache-2.0
#include "tilted_sum.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "fft.hpp"
#include "search.hpp"

namespace porter {
namespace {

constexpr double kBoundRounding = 1 + 1e-6;

// Coefficients below exp(-80) are taken as zero; with their own error they are below exp(-70).
constexpr double kLogNegligible = -80, kNegligibleTerm = 4e-31;

// The nodes are in order and most gaps are alike, so few exponentials are needed: from the node
// with the largest factor on, each factor is that of the node before times exp(-|t| h gap).
double log_moment(const StepLoss& loss, double t) {
  const auto& nodes = loss.nodes;
  const std::size_t count = nodes.size();
  const auto at = [&](std::size_t i) { return t > 0 ? nodes[count - 1 - i] : nodes[i]; };
  std::size_t first = 0;
  while (first + 1 < count && at(first).mass == 0) ++first;
  const double largest = t * loss.step * static_cast<double>(at(first).k);
  double sum = at(first).mass, factor = 1, ratio = 1;
  std::int64_t gap = 0;
  for (std::size_t i = first + 1; i < count; ++i) {
    const auto next = std::abs(at(i).k - at(i - 1).k);
    if (next != gap) {
      gap = next;
      ratio = std::exp(-std::abs(t) * loss.step * static_cast<double>(gap));
    }
    factor *= ratio;
    sum += at(i).mass * factor;
  }
  return largest + std::log(sum);
}

struct Window {
  double low, high;
  double doubt;  // rounding may multiply what lies outside by exp(doubt)
};

// Pr[S >= u] <= exp(K(t + x) - K(t) - x u) under r, for every x > 0; the lower end alike.
Window window(std::span<const LossPhase> phases, double tilt, double log_scale, double step) {
  const auto reach = [&](double x, double sign) {
    return (log_moment(phases, tilt + sign * x) - log_scale - std::log(kOutside)) / x;
  };
  const double least = 1e-9 / step, most = 30 / step;
  const auto up = [&](double x) { return reach(x, +1); };
  const auto down = [&](double x) { return reach(x, -1); };
  const double x_down = minimise_on_log_scale(down, least, most);
  const double x_up = minimise_on_log_scale(up, least, most);
  const double doubt = std::max(log_moment_error(phases, tilt + x_up),
                                log_moment_error(phases, std::abs(tilt - x_down)));
  return {-down(x_down), up(x_up), 2 * doubt};
}

std::size_t wrapped(std::int64_t k, std::size_t length) {
  const auto n = static_cast<std::int64_t>(length);
  return static_cast<std::size_t>((k % n + n) % n);
}

std::vector<double> tilted_step(const StepLoss& loss, double tilt, std::size_t length) {
  const double log_scale = log_moment(loss, tilt);
  std::vector<double> masses(length);
  for (const auto& [k, mass] : loss.nodes)
    masses[wrapped(k, length)] +=
        mass * std::exp(tilt * loss.step * static_cast<double>(k) - log_scale);
  return masses;
}

struct Spectrum {
  std::vector<std::complex<double>> values;
  double error = 0;  // in the 2-norm, over all `length` frequencies
};

// prod_i phi_i^T_i and what rounding did to it (docs/privacy.md, "Rounding"). Each phi is off by at
// most e = relative_error (the masses sum to 1), so with m = max(|phi|, e) the product is off by at
// most prod m_i^T_i expm1(sum T_i 2 e / m_i). Where |phi| >= e, one e / m is enough for that; the
// other, at least 48 units times 1 + |log m|, covers log, atan2 and exp. Adding up the phases of
// several events costs 4 units for each.
Spectrum power_spectrum(std::span<const LossPhase> phases, double tilt, RealFft& fft,
                        std::size_t length) {
  const std::size_t count = length / 2 + 1;
  const double e = fft.relative_error();
  const double units = 8 + 4 * static_cast<double>(phases.size());
  std::vector<double> log_size(count), log_bound(count), phase(count), growth(count);
  for (const auto& [loss, steps] : phases) {
    const auto phi = fft.forward(tilted_step(loss, tilt, length));
    const auto times = static_cast<double>(steps);
    for (std::size_t f = 0; f < count; ++f) {
      const double size = std::sqrt(std::norm(phi[f])), bound = std::max(size, e);
      log_bound[f] += times * std::log(bound);
      growth[f] += times * (2 * e / bound + units * kRoundoff<double>);
      if (log_bound[f] < kLogNegligible) continue;
      log_size[f] += times * std::log(size);
      phase[f] += times * std::arg(phi[f]);
    }
  }
  Spectrum product{std::vector<std::complex<double>>(count), 0};
  double squares = 0, error_squares = 0;
  for (std::size_t f = 0; f < count; ++f) {
    const double twins = f == 0 || f + 1 == count ? 1 : 2;
    double error = kNegligibleTerm;
    if (!(log_bound[f] < kLogNegligible)) {
      product.values[f] = std::polar(std::exp(log_size[f]), phase[f]);
      squares += twins * std::norm(product.values[f]);
      error = std::exp(log_bound[f]) * std::expm1(growth[f]);
    }
    error_squares += twins * error * error;
  }
  product.error = std::sqrt(error_squares) + fft.relative_error() * std::sqrt(squares);
  return product;
}

// The 2-norm of w(x) = exp(-t x) (1 - exp(-x)) over the grid points of a window.
double weight_norm(double tilt, double step, std::size_t length) {
  const double decay_step = std::exp(-tilt * step), rest_step = std::exp(-step);
  double squares = 0, decay = 1, rest = 1;
  for (std::size_t j = 1; j < length; ++j) {
    decay *= decay_step, rest *= rest_step;
    const double weight = decay * (1 - rest + static_cast<double>(j) * 2 * kRoundoff<double>);
    squares += weight * weight;
    if (decay < 1e-20) break;  // the rest is below double precision
  }
  return std::sqrt(squares);
}

}  // namespace

double log_moment(std::span<const LossPhase> phases, double t) {
  double sum = 0;
  for (const auto& [loss, steps] : phases) sum += static_cast<double>(steps) * log_moment(loss, t);
  return sum;
}

double log_moment_error(std::span<const LossPhase> phases, double t) {
  double sum = 0;
  for (const auto& [loss, steps] : phases) {
    const auto nodes = static_cast<double>(loss.nodes.size());
    const auto farthest = std::max(std::abs(loss.nodes.front().k), std::abs(loss.nodes.back().k));
    const double exponent = std::abs(t) * loss.step * static_cast<double>(farthest);
    sum += static_cast<double>(steps) *
           (loss.curve_error + (4 * nodes + 8 * exponent) * kRoundoff<double>);
  }
  return sum;
}

double loss_error(std::span<const LossPhase> phases) {
  double sum = 0;
  for (const auto& [loss, steps] : phases) sum += static_cast<double>(steps) * loss.loss_error();
  return sum;
}

double log_largest_weight(double t) {
  return t == 0 ? 0 : t * std::log(t) - (1 + t) * std::log1p(t);
}

std::optional<TiltedSum> tilted_sum(std::span<const LossPhase> phases, double tilt,
                                    std::size_t most_points) {
  TiltedSum sum;
  sum.tilt = tilt;
  sum.log_scale = log_moment(phases, tilt);
  sum.step = phases.front().loss.step;
  const auto [low, high, doubt] = window(phases, tilt, sum.log_scale, sum.step);
  const double points = std::ceil((high - low) / sum.step) + 4;
  // With very many steps rounding decides where the window lies: nothing is certain then.
  if (!(points >= 4 && points <= static_cast<double>(most_points) && doubt <= 1))
    return std::nullopt;
  const std::size_t length = RealFft::good_length(static_cast<std::size_t>(points));
  sum.first = static_cast<std::int64_t>(std::floor(low / sum.step)) - 1;

  RealFft fft(length);
  const auto spectrum = power_spectrum(phases, tilt, fft, length);
  const auto circle = fft.inverse(spectrum.values);
  sum.masses.resize(length);
  for (std::size_t j = 0; j < length; ++j)
    sum.masses[j] =
        std::max(0.0, circle[wrapped(sum.first + static_cast<std::int64_t>(j), length)]);

  // Parseval: the inverse divides 2-norms by sqrt(length). Cauchy-Schwarz: so much of it counts.
  // These bounds are themselves rounded, in sums of at most 2^20 terms.
  sum.error = kBoundRounding * (weight_norm(tilt, sum.step, length) * spectrum.error /
                                    std::sqrt(static_cast<double>(length)) +
                                kOutside * std::exp(log_largest_weight(tilt) + doubt));
  for (const auto& phase : phases)
    sum.infinite += static_cast<double>(phase.steps) * phase.loss.infinite;
  // Adding up the masses multiplies each by at most `length` factors that are rounded, 8 units
  // each, and by exponentials of numbers up to `exponent` (750: more underflows).
  const double reach = std::max(std::abs(low), std::abs(high)) + 2 * sum.step;
  const double exponent = std::abs(sum.log_scale) + tilt * reach + 2 * 750;
  sum.slack = std::expm1(log_moment_error(phases, tilt)) +
              8 * kRoundoff<double> * (static_cast<double>(length) + exponent);
  sum.infinite *= 1 + sum.slack;
  sum.loss_error = loss_error(phases);
  return sum;
}

}  // namespace porter
