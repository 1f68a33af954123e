// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "porter/core/error.hpp"
#include "porter/version.hpp"
#include "privacy/paper.hpp"
#include "reproduce/closed_forms.hpp"

namespace porter {
namespace {

void check(const OrdersRequest& request) {
  const auto within = [](double value, const char* name, bool good, const char* expected) {
    require(good && std::isfinite(value), ErrorKind::usage, name, ": expected ", expected,
            ", found ", value);
  };
  within(request.records, "m", request.records >= 1, "a number of at least 1");
  within(request.agents, "n", request.agents >= 1, "a number of at least 1");
  within(request.dim, "d", request.dim >= 1, "a number of at least 1");
  within(request.epsilon, "epsilon", request.epsilon > 0, "a number above 0");
  within(request.delta, "delta", request.delta > 0 && request.delta < 1,
         "a number between 0 and 1");
  within(request.alpha, "alpha", request.alpha >= 0 && request.alpha < 1, "a number in [0, 1)");
  within(request.rho, "rho", request.rho > 0 && request.rho <= 1, "a number in (0, 1]");
  within(request.omega, "omega", request.omega >= 0, "a number of at least 0");
}

double phi_of(const OrdersRequest& request) {
  return paper_phi(request.dim, request.delta, request.records, request.epsilon);
}

Table orders_table(const std::vector<UtilityOrder>& orders) {
  Table table{{text_column("algorithm", "algorithm"),
               text_column("privacy", "privacy"),
               text_column("compression", "compression"),
               text_column("bounded_gradient", "|∇| bounded"),
               text_column("utility_formula", "utility, order"),
               {"utility", "value", Better::lower},
               text_column("communication_formula", "communication, order"),
               {"communication", "value"}}};
  // DP-SGD stands for what one place with m samples could do; it takes no part.
  const auto first_local = std::min_element(
      orders.begin(), orders.end(), [](const UtilityOrder& a, const UtilityOrder& b) {
        const bool local_a = a.privacy == "LDP", local_b = b.privacy == "LDP";
        return local_a != local_b ? local_a : a.utility < b.utility;
      });
  for (const auto& order : orders) {
    const bool wins = &order == &*first_local;
    table.rows.push_back(
        {{.text = order.algorithm},
         {.text = order.privacy},
         {.text = order.compression},
         {.text = order.bounded_gradient ? "assumed" : "no"},
         {.text = order.utility_formula},
         {.text = format_number(order.utility) + (order.utility >= 1 ? " †" : ""),
          .value = order.utility,
          .best = wins},
         {.text = order.communication_formula.empty() ? "–" : order.communication_formula},
         number_cell(order.communication)});
  }
  return table;
}

std::string winner(const std::vector<UtilityOrder>& orders) {
  const UtilityOrder* best = nullptr;
  for (const auto& order : orders)
    if (order.privacy == "LDP" && (best == nullptr || order.utility < best->utility)) best = &order;
  return fmt::format("smallest order of utility under local privacy: {}, {}{}", best->algorithm,
                     format_number(best->utility),
                     best->utility >= 1 ? ", which says nothing" : "");
}

}  // namespace

std::vector<UtilityOrder> utility_orders(const OrdersRequest& request) {
  check(request);
  const double n = request.agents, d = request.dim, phi = phi_of(request);
  const double gap = 1 - request.alpha, rho = request.rho, omega = request.omega;
  // Li, Zhao, Li, Chi: SoteriaFL, 2022. The paper's footnote has (1 - omega)^(-3/2), which is no
  // number for omega > 1.
  const double theta = std::pow(1 + omega, 1.5) / std::sqrt(n);
  const double spread = 1 + std::sqrt(theta);
  return {
      {.algorithm = "DP-SGD, m samples",
       .privacy = "DP",
       .compression = "none",
       .utility_formula = "φ",
       .communication_formula = "",
       .utility = phi},
      {.algorithm = "DDP-SRM",
       .privacy = "DP",
       .compression = "none",
       .utility_formula = "φ / n",
       .communication_formula = "n² d / φ",
       .utility = phi / n,
       .communication = n * n * d / phi},
      {.algorithm = "SoteriaFL-SGD",
       .privacy = "LDP",
       .compression = "unbiased",
       .utility_formula = "(1 + √θ) √((1 + ω) / n) φ",
       .communication_formula = "(1 + √θ) (n / (1 + ω))^(2/3) d / φ",
       .utility = spread * std::sqrt((1 + omega) / n) * phi,
       .communication = spread * std::pow(n / (1 + omega), 2.0 / 3) * d / phi},
      {.algorithm = "PORTER-DP",
       .privacy = "LDP",
       .compression = "general",
       .utility_formula = "φ / ((1 − α)^(8/3) ρ^(4/3))",
       .communication_formula = "1 / φ²",
       .utility = phi / (std::pow(gap, 8.0 / 3) * std::pow(rho, 4.0 / 3)),
       .communication = 1 / (phi * phi)},
      {.algorithm = "PORTER-DP",
       .privacy = "LDP",
       .compression = "general",
       .bounded_gradient = false,
       .utility_formula = "φ / ((1 − α)^(16/3) ρ^(8/3))",
       .communication_formula = "1 / φ²",
       .utility = phi / (std::pow(gap, 16.0 / 3) * std::pow(rho, 8.0 / 3)),
       .communication = 1 / (phi * phi)},
  };
}

StudyReport orders_report(const OrdersRequest& request) {
  const auto orders = utility_orders(request);
  StudyReport report{
      .name = "table1",
      .title = "Table 1: utility and communication, orders",
      .about =
          "The bounds of the paper's Table 1, evaluated. They are orders: constants, the "
          "smoothness and the clipping threshold are left out, so a value compares only with "
          "another of the same table, and roughly.",
      .command = fmt::format("porter reproduce table1 --m {} --n {} --d {} --epsilon {} --delta {} "
                             "--alpha {} --rho {} --omega {}",
                             request.records, request.agents, request.dim, request.epsilon,
                             request.delta, request.alpha, request.rho, request.omega)};
  report.meta = fmt::format(
      "m = {}, n = {}, d = {}, ε = {}, δ = {}, α = {}, ρ = {}, ω = {}; φ = {} · porter {}",
      format_number(request.records), format_number(request.agents), format_number(request.dim),
      format_number(request.epsilon), format_number(request.delta), format_number(request.alpha),
      format_number(request.rho), format_number(request.omega), format_number(phi_of(request)),
      kVersion);
  report.headline = winner(orders);
  if (phi_of(request) >= 1)
    report.warnings.push_back(fmt::format(
        "φ = {} is not below 1, as the paper assumes: none of the bounds says anything.",
        format_number(phi_of(request))));
  report.tables.push_back(
      {.file = "orders",
       .title = "Orders",
       .table = orders_table(orders),
       .notes = {
           "φ = √(d log(1/δ)) / (m ε). Utility: the mean squared gradient norm at the end. From 1 "
           "on "
           "it says nothing (†): gradients of length one are assumed. Marked: the smallest under "
           "local "
           "privacy.",
           "θ = (1 + ω)^(3/2) n^(−1/2), as in the paper on SoteriaFL; the footnote of Table 1 has "
           "(1 − ω)^(−3/2), which is no number for ω > 1.",
           "Communication as Table 1 prints it: for the methods with a server the order has a "
           "factor d, for PORTER-DP it counts rounds, of two messages of k values each. They do "
           "not "
           "compare with each other."}});
  return report;
}

}  // namespace porter
