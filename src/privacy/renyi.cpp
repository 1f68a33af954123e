// SPDX-License-Identifier: Apache-2.0
#include "renyi.hpp"

#include <algorithm>
#include <cmath>

#include "mechanism.hpp"

namespace porter {
namespace {

constexpr int kMaxOrder = 4096;

// log(n!) for n up to kMaxOrder; std::lgamma would write the global signgam.
const std::vector<double>& log_factorials() {
  static const std::vector<double> table = [] {
    std::vector<double> values(kMaxOrder + 1);
    long double sum = 0;
    for (int n = 1; n <= kMaxOrder; ++n) {
      sum += std::log(static_cast<long double>(n));
      values[static_cast<std::size_t>(n)] = static_cast<double>(sum);
    }
    return values;
  }();
  return table;
}

// log(exp(x) - 1), x > 0.
double log_expm1(double x) {
  return x > 1 ? x + std::log1p(-std::exp(-x)) : std::log(std::expm1(x));
}

// log(1 + exp(x)).
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

double log_choose(int n, int k) {
  const auto& log_factorial = log_factorials();
  const auto at = [&](int i) { return log_factorial[static_cast<std::size_t>(i)]; };
  return at(n) - at(k) - at(n - k);
}

double log_sum(const std::vector<double>& logs) {
  const double largest = *std::max_element(logs.begin(), logs.end());
  if (!(largest < kInfinity)) return kInfinity;
  double sum = 0;
  for (const double term : logs) sum += std::exp(term - largest);
  return largest + std::log(sum);
}

// Of one step; infinite for the sampler for which we know no bound that amplifies.
double step_divergence(const Mechanism& m, int order) {
  using Kind = Mechanism::Kind;
  if (m.kind == Kind::poisson_replace) return kInfinity;
  if (m.kind == Kind::fixed_replace) return renyi_without_replacement(m.q, m.mu, order);
  return renyi_sampled_gaussian(m.q, 1 / m.mu, order);
}

}  // namespace

double renyi_sampled_gaussian(double q, double z, int order) {
  if (q == 1) return order / (2 * z * z);
  std::vector<double> terms;
  for (int k = 2; k <= order; ++k)
    terms.push_back(log_choose(order, k) + (order - k) * std::log1p(-q) + k * std::log(q) +
                    log_expm1((static_cast<double>(k) * k - k) / (2 * z * z)));
  return softplus(log_sum(terms)) / (order - 1);
}

double renyi_without_replacement(double g, double mu, int order) {
  const double square = mu * mu, unamplified = order * square / 2;
  std::vector<double> terms = {log_choose(order, 2) + 2 * std::log(g) +
                               std::min(std::log(4.0) + log_expm1(square), std::log(2.0) + square)};
  for (int k = 3; k <= order; ++k)
    terms.push_back(std::log(2.0) + log_choose(order, k) + k * std::log(g) +
                    0.5 * (k - 1) * k * square);
  return std::min(unamplified, softplus(log_sum(terms)) / (order - 1));
}

const std::vector<int>& renyi_orders() {
  static const std::vector<int> orders = [] {
    std::vector<int> values;
    for (int order = 2; order < 128; ++order) values.push_back(order);
    for (double order = 128; order <= kMaxOrder; order *= std::pow(2, 1.0 / 8))
      values.push_back(static_cast<int>(std::lround(order)));
    return values;
  }();
  return orders;
}

double renyi_to_epsilon(double divergence, int order, double delta) {
  const double a = order;
  const double epsilon =
      divergence + std::log1p(-1 / a) - (std::log(a) + std::log(delta)) / (a - 1);
  return epsilon <= 0 ? 0 : epsilon;
}

double renyi_epsilon(std::span<const PrivacyEvent> events, double delta) {
  check_delta(delta);
  const auto mechanisms = checked_mechanisms(events);
  if (mechanisms.empty()) return 0;
  double best = kInfinity;
  if (without_noise(mechanisms)) return best;
  for (const int order : renyi_orders()) {
    double divergence = 0;
    for (const auto& m : mechanisms)
      divergence += static_cast<double>(m.steps) * step_divergence(m, order);
    const double epsilon = renyi_to_epsilon(divergence, order, delta);
    if (epsilon < best) best = epsilon;
  }
  return best;
}

}  // namespace porter
