// SPDX-License-Identifier: Apache-2.0
#include "reproduce/closed_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "porter/core/error.hpp"
#include "porter/privacy/clip.hpp"
#include "porter/version.hpp"
#include "privacy/paper.hpp"

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

// DP-SGD stands for what one place with m samples could do; it takes no part.
const UtilityOrder& best_local(const std::vector<UtilityOrder>& orders) {
  return *std::ranges::min_element(orders, {}, [](const UtilityOrder& order) {
    return std::pair(order.privacy != "LDP", order.utility);
  });
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
  for (const auto& order : orders)
    table.rows.push_back(
        {{.text = order.algorithm},
         {.text = order.privacy},
         {.text = order.compression},
         {.text = order.bounded_gradient ? "assumed" : "no"},
         {.text = order.utility_formula},
         {.text = format_number(order.utility) + (order.utility >= 1 ? " †" : ""),
          .value = order.utility,
          .best = &order == &best_local(orders)},
         {.text = order.communication_formula.empty() ? "–" : order.communication_formula},
         number_cell(order.communication)});
  return table;
}

// Section 5: ten agents, b = 1, tau = 1.
PaperClaim claim_of(const char* data, std::size_t records, double claimed, std::uint64_t rounds) {
  const double sigma = paper_sigma(1, static_cast<double>(rounds), kPaperDelta,
                                   static_cast<double>(records), claimed);
  PrivacyEvent event;
  event.records = records;
  event.batch = 1;
  event.noise_multiplier = noise_multiplier(sigma, 1, 1);
  event.steps = rounds;
  return {data, records, claimed, rounds, sigma, privacy::epsilon(event, kPaperDelta)};
}

std::string name_of(const PaperClaim& claim) {
  return fmt::format("{}, claimed {}", claim.data, claim.claimed);
}

Table claims_table(const std::vector<PaperClaim>& claims) {
  Table table{{text_column("data", "data"),
               {"m", "m"},
               {"claimed", "claimed ε"},
               {"rounds", "rounds T"},
               {"sigma", "σ of the formula"},
               {"epsilon_lower", "ε, attack"},
               {"epsilon", "ε, certified"},
               text_column("verdict", "the claim")}};
  const auto up = [](double value) { return rounded_up(value, 4); };
  const auto down = [](double value) { return rounded_down(value, 4); };
  for (const auto& claim : claims)
    table.rows.push_back({{.text = claim.data},
                          number_cell(static_cast<double>(claim.records)),
                          number_cell(claim.claimed),
                          number_cell(static_cast<double>(claim.rounds)),
                          number_cell(claim.sigma),
                          number_cell(claim.epsilon.lower, down),
                          number_cell(claim.epsilon.upper, up),
                          {.text = claim.broken()                         ? "broken"
                                   : claim.epsilon.upper <= claim.claimed ? "holds"
                                                                          : "open"}});
  return table;
}

Plot claims_plot(const std::vector<PaperClaim>& claims) {
  Plot plot{.title = "True epsilon of the paper's noise",
            .help =
                "Line: certified upper bound. Band: down to what an attack shows. Dashed: the "
                "claims.",
            .x = {.title = "rounds T", .log = true},
            .y = {.title = "epsilon at delta = 0.001", .log = true}};
  for (const auto& claim : claims) {
    if (plot.series.empty() || plot.series.back().name != name_of(claim))
      plot.series.push_back({.name = name_of(claim), .style = plot.series.size()});
    plot.series.back().add(static_cast<double>(claim.rounds), claim.epsilon.upper,
                           claim.epsilon.lower, claim.epsilon.upper);
  }
  plot.references = {{"claimed 0.01", 0.01}, {"claimed 0.1", 0.1}};
  return plot;
}

}  // namespace

StudyReport clipping_report() {
  constexpr int kPoints = 200;
  constexpr double kLongest = 5;  // in units of tau
  StudyReport report{
      .name = "fig1",
      .title = "Figure 1: the two clipping operators",
      .about =
          "The norm of a vector before and after clipping with tau = 1, computed by the code "
          "that clips gradients. Smooth: x tau / (tau + |x|), Definition 2. Piece-wise "
          "linear: x min(1, tau / |x|). The paper says that they behave quite similarly; "
          "at |x| = tau they differ by a factor of two.",
      .command = "porter reproduce fig1"};
  report.meta = std::string("porter ") + kVersion;
  Plot plot{.title = "Norm after clipping",
            .help = "tau = 1. Both stay below tau; the smooth one shortens every vector.",
            .x = {.title = "norm before, in units of tau", .offer_log = false},
            .y = {.title = "norm after, in units of tau", .offer_log = false}};
  Table table{{{"norm", "norm before"}, {"smooth", "smooth"}, {"linear", "piece-wise linear"}}};
  const Clip smooth = parse_clip("smooth:1"), linear = parse_clip("linear:1");
  plot.series = {{.name = "smooth", .style = 0}, {.name = "piece-wise linear", .style = 1}};
  for (int i = 0; i <= kPoints; ++i) {
    const double norm = kLongest * i / kPoints;
    const double after[] = {norm * smooth.factor(norm), norm * linear.factor(norm)};
    for (std::size_t s = 0; s < 2; ++s) plot.series[s].add(norm, after[s]);
    if (i % (kPoints / 10) != 0) continue;
    auto& row = table.rows.emplace_back();
    for (const double value : {norm, after[0], after[1]})
      row.push_back({.text = concat(value), .value = value});
  }
  plot.references = {{"tau", 1}};
  report.headline = "smooth clipping halves a vector of norm tau, piece-wise linear keeps it";
  report.tables.push_back({.file = "clipping", .title = "Norms", .table = std::move(table)});
  report.figures.push_back({"clipping", std::move(plot)});
  return report;
}

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
  const double phi = phi_of(request);
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
      "m = {:.4g}, n = {:.4g}, d = {:.4g}, ε = {:.4g}, δ = {:.4g}, α = {:.4g}, ρ = {:.4g}, "
      "ω = {:.4g}; φ = {:.4g} · porter {}",
      request.records, request.agents, request.dim, request.epsilon, request.delta, request.alpha,
      request.rho, request.omega, phi, kVersion);
  const auto& best = best_local(orders);
  report.headline =
      fmt::format("smallest order of utility under local privacy: {}, {:.4g}{}", best.algorithm,
                  best.utility, best.utility >= 1 ? ", which says nothing" : "");
  if (phi >= 1)
    report.warnings.push_back(fmt::format(
        "φ = {:.4g} is not below 1, as the paper assumes: none of the bounds says anything.", phi));
  report.tables.push_back(
      {.file = "orders",
       .title = "Orders",
       .table = orders_table(orders),
       .notes = {
           "φ = √(d log(1/δ)) / (m ε). Utility: the mean squared gradient norm at the end. From 1 "
           "on it says nothing (†): gradients of length one are assumed. Marked: the smallest "
           "under local privacy.",
           "θ = (1 + ω)^(3/2) n^(−1/2), as in the paper on SoteriaFL; the footnote of Table 1 has "
           "(1 − ω)^(−3/2), which is no number for ω > 1.",
           "Communication as Table 1 prints it: for the methods with a server the order has a "
           "factor d, for PORTER-DP it counts rounds, of two messages of k values each. They do "
           "not compare with each other."}});
  return report;
}

std::vector<PaperClaim> paper_claims() {
  std::vector<PaperClaim> claims;
  for (const auto& [data, records] : {std::pair("a9a", 3256U), {"MNIST", 6000U}})
    for (const double claimed : {0.01, 0.1})
      for (const auto rounds : kPaperRounds)
        claims.push_back(claim_of(data, records, claimed, rounds));
  return claims;
}

StudyReport privacy_report() {
  const auto claims = paper_claims();
  StudyReport report{
      .name = "privacy",
      .title = "What the paper's noise is worth",
      .about =
          "Theorem 1 sets sigma = tau sqrt(T log(1/delta)) / (m epsilon) with its constant "
          "dropped, and asks for epsilon <= T / m^2. The accountant says what that noise is "
          "worth in the paper's own settings: one sample a round, clipped to tau = 1, "
          "replace-one neighbours, delta = 0.001.",
      .command = "porter reproduce privacy"};
  report.meta = concat("certified upper bounds and attacks · porter ", kVersion);
  std::size_t broken = 0;
  for (const auto& claim : claims) broken += claim.broken();
  report.headline = concat(broken, " of ", claims.size(), " claims are broken by an attack");
  report.tables.push_back(
      {.file = "claims",
       .title = "The 16 settings",
       .table = claims_table(claims),
       .notes = {"Attack: no smaller epsilon can be true. Certified: this epsilon is true. Holds, "
                 "broken: by these two; open: the claim lies between them."}});
  report.figures.push_back({"epsilon", claims_plot(claims)});
  return report;
}

}  // namespace porter
