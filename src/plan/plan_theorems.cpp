// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "plan/plan.hpp"
#include "privacy/paper.hpp"

namespace porter {
TheoremOrders theorem_orders(const PlanRequest& request) {
  const double mixing = 1 - request.alpha, rho = request.rho;
  TheoremOrders orders;
  orders.phi = paper_phi(static_cast<double>(request.dim), request.delta,
                         static_cast<double>(request.records), request.epsilon);
  orders.rounds = 1 / (orders.phi * orders.phi);
  orders.gamma = mixing * rho;
  orders.eta = std::pow(orders.gamma * rho, 4.0 / 3) * orders.phi;
  const double slowdown = std::pow(rho, -4.0 / 3) * std::pow(mixing, -8.0 / 3);
  orders.bound = orders.phi * slowdown;
  orders.clip = 365 * slowdown * std::sqrt(orders.phi);
  return orders;
}

std::vector<SideCondition> side_conditions(const PlanRequest& request, std::size_t batch,
                                           double rounds) {
  const auto orders = theorem_orders(request);
  const double m = static_cast<double>(request.records), size = static_cast<double>(batch);
  const double sigma = paper_sigma(request.clip, rounds, request.delta, m, request.epsilon);
  std::vector<SideCondition> conditions;
  const auto add = [&](const char* theorem, const char* text, double left, double right,
                       bool holds) {
    conditions.push_back({theorem, text, left, right, holds});
  };
  add("1-3", "b = 1", size, 1, batch == 1);
  add("1", "epsilon <= T / m^2", request.epsilon, rounds / (m * m),
      request.epsilon <= rounds / (m * m));
  add("1 (lemma)", "sigma_p >= tau", sigma, request.clip, sigma >= request.clip);
  add("2, 3", "phi_m < 1", orders.phi, 1, orders.phi < 1);
  // Whole rounds cannot meet it better.
  add("2, 3", "T = phi_m^-2", rounds, orders.rounds, std::abs(rounds - orders.rounds) <= 0.5);
  add("3", "tau >= 365 rho^-4/3 (1-alpha)^-8/3 phi_m^1/2", request.clip, orders.clip,
      request.clip >= orders.clip);
  return conditions;
}

}  // namespace porter
