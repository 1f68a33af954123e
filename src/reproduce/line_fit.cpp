// SPDX-License-Identifier: Apache-2.0
#include "porter/reproduce/line_fit.hpp"

#include <cmath>
#include <vector>

#include "audit/statistics.hpp"

namespace porter {
namespace {

constexpr double kAlpha = 0.05;

bool usable(double value) { return value > 0 && std::isfinite(value); }

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

double student_quantile(double alpha, double freedom) {
  // P(|T| > t) = I_{f / (f + t^2)}(f / 2, 1 / 2), which falls with t.
  const auto tail = [freedom](double t) {
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
  };
  double low = 0, high = 1;
  while (tail(high) > alpha) high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (tail(middle) > alpha ? low : high) = middle;
  }
  return high;
}

std::optional<PowerLaw> fit_power_law(std::span<const double> x, std::span<const double> y) {
  std::vector<double> u, v;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (usable(x[i]) && usable(y[i])) {
      u.push_back(std::log(x[i]));
      v.push_back(std::log(y[i]));
    }
  if (u.size() < 3) return std::nullopt;
  const double mean_u = mean(u), mean_v = mean(v);
  double uu = 0, uv = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    uu += (u[i] - mean_u) * (u[i] - mean_u);
    uv += (u[i] - mean_u) * (v[i] - mean_v);
  }
  // Equal logarithms may differ by rounding from their mean.
  if (uu <= 1e-20 * (1 + mean_u * mean_u) * static_cast<double>(u.size())) return std::nullopt;
  PowerLaw law{.slope = uv / uu, .points = u.size()};
  law.scale = std::exp(mean_v - law.slope * mean_u);
  double residual = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double error = v[i] - mean_v - law.slope * (u[i] - mean_u);
    residual += error * error;
  }
  const double freedom = static_cast<double>(u.size()) - 2;
  const double reach = student_quantile(kAlpha, freedom) * std::sqrt(residual / freedom / uu);
  law.low = law.slope - reach;
  law.high = law.slope + reach;
  return law;
}

std::string slope_verdict(const PowerLaw& law, double exponent) {
  if (law.low <= exponent && exponent <= law.high) return "agrees";
  const bool steeper = exponent < 0   ? law.high < exponent
                       : exponent > 0 ? law.low > exponent
                                      : true;
  return steeper ? "steeper" : "flatter";
}

}  // namespace porter
