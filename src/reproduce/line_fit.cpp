// SPDX-License-Identifier: Apache-2.0
#include "reproduce/line_fit.hpp"

#include <algorithm>
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

// Logarithms of some runs, of those that have them.
struct Group {
  std::vector<double> u, v;

  Group(std::span<const double> x, std::span<const double> y) {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (usable(x[i]) && usable(y[i])) {
        u.push_back(std::log(x[i]));
        v.push_back(std::log(y[i]));
      }
  }
};

std::vector<Group> groups_of(std::span<const Replicates> values) {
  std::vector<Group> groups;
  for (const auto& value : values) {
    Group group(value.x, value.y);
    if (!group.u.empty()) groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return mean(a.u) < mean(b.u); });
  std::vector<Group> merged;
  for (auto& group : groups) {
    if (!merged.empty() && mean(group.u) - mean(merged.back().u) < 1e-9) {
      auto& last = merged.back();
      last.u.insert(last.u.end(), group.u.begin(), group.u.end());
      last.v.insert(last.v.end(), group.v.begin(), group.v.end());
    } else {
      merged.push_back(std::move(group));
    }
  }
  return merged;
}

// P(F > ratio) = I_{b / (b + a ratio)}(b / 2, a / 2), with the sums of squares for the ratio.
double f_tail(double lack, double a, double error, double b) {
  if (lack == 0) return 1;
  return incomplete_beta(b / 2, a / 2, error / (error + lack));
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
  const auto [u, v] = Group(x, y);
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

Linearity test_line(std::span<const Replicates> values, const PowerLaw& law) {
  const auto groups = groups_of(values);
  Linearity out;
  for (std::size_t j = 1; j < groups.size(); ++j) {
    const auto &left = groups[j - 1], &right = groups[j];
    out.local_slopes.push_back((mean(right.v) - mean(left.v)) / (mean(right.u) - mean(left.u)));
  }
  // Of the residuals of the line: what the values' means have, and what is left within the values.
  double lack = 0, error = 0;
  std::size_t runs = 0;
  for (const auto& group : groups) {
    std::vector<double> residuals;
    for (std::size_t i = 0; i < group.u.size(); ++i)
      residuals.push_back(group.v[i] - std::log(law.scale) - law.slope * group.u[i]);
    const double middle = mean(residuals);
    lack += static_cast<double>(residuals.size()) * middle * middle;
    for (const double residual : residuals) error += (residual - middle) * (residual - middle);
    runs += residuals.size();
  }
  if (groups.size() > 2 && runs > groups.size())
    out.p = f_tail(lack, static_cast<double>(groups.size() - 2), error,
                   static_cast<double>(runs - groups.size()));
  return out;
}

bool Linearity::fits(double exponent) const {
  if (local_slopes.size() < 2) return false;  // two values lie on any line
  const auto [low, high] = std::minmax_element(local_slopes.begin(), local_slopes.end());
  return *high - *low <= std::abs(exponent) / 2 || (p && *p >= kAlpha);
}

}  // namespace porter
