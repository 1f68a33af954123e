// SPDX-License-Identifier: Apache-2.0
#include "renyi.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace

double renyi_sampled_gaussian(double q, double z, int order) {
  if (q == 1) return order / (2 * z * z);
  const auto& log_factorial = log_factorials();
  const auto a = static_cast<std::size_t>(order);
  std::vector<double> terms;
  for (std::size_t k = 2; k <= a; ++k) {
    const auto times = static_cast<double>(k);
    terms.push_back(log_factorial[a] - log_factorial[k] - log_factorial[a - k] +
                    static_cast<double>(a - k) * std::log1p(-q) + times * std::log(q) +
                    log_expm1((times * times - times) / (2 * z * z)));
  }
  const double largest = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - largest);
  return softplus(largest + std::log(sum)) / (order - 1);
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
  return std::max(0.0, divergence + std::log1p(-1 / a) - std::log(a * delta) / (a - 1));
}

double renyi_epsilon(std::span<const PrivacyEvent> events, double delta) {
  check_delta(delta);
  const auto mechanisms = checked_mechanisms(events);
  if (mechanisms.empty()) return 0;
  double best = std::numeric_limits<double>::infinity();
  if (without_noise(mechanisms)) return best;
  for (const int order : renyi_orders()) {
    double divergence = 0;
    for (const auto& m : mechanisms) {
      // Without amplification, a replacement moves the sum by two records' worth.
      const double mu = m.kind == Mechanism::Kind::poisson_replace ? 2 * m.mu : m.mu;
      const double q = m.kind == Mechanism::Kind::poisson_add_remove ? m.q : 1;
      divergence += static_cast<double>(m.steps) * renyi_sampled_gaussian(q, 1 / mu, order);
    }
    best = std::min(best, renyi_to_epsilon(divergence, order, delta));
  }
  return best;
}

}  // namespace porter
