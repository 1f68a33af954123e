// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "porter/core/error.hpp"
#include "porter/version.hpp"
#include "privacy/paper.hpp"
#include "reproduce/closed_forms.hpp"

namespace porter {
namespace {

struct Setting {
  const char* data;
  std::size_t records;
  double claimed;
};
// Section 5: ten agents, b = 1, tau = 1.
constexpr Setting kSettings[] = {
    {"a9a", 3256, 0.01}, {"a9a", 3256, 0.1}, {"MNIST", 6000, 0.01}, {"MNIST", 6000, 0.1}};

PaperClaim claim_of(const Setting& setting, std::uint64_t rounds) {
  const double sigma = paper_sigma(1, static_cast<double>(rounds), kPaperDelta,
                                   static_cast<double>(setting.records), setting.claimed);
  PrivacyEvent event;
  event.records = setting.records;
  event.batch = 1;
  event.noise_multiplier = noise_multiplier(sigma, 1, 1);
  event.steps = rounds;
  return {.data = setting.data,
          .records = setting.records,
          .claimed = setting.claimed,
          .rounds = rounds,
          .sigma = sigma,
          .epsilon = epsilon(event, kPaperDelta)};
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
    auto& series = plot.series.back();
    series.x.push_back(static_cast<double>(claim.rounds));
    series.y.push_back(claim.epsilon.upper);
    series.band_low.push_back(claim.epsilon.lower);
    series.band_high.push_back(claim.epsilon.upper);
  }
  plot.references = {{"claimed 0.01", 0.01}, {"claimed 0.1", 0.1}};
  return plot;
}

}  // namespace

std::vector<PaperClaim> paper_claims() {
  std::vector<PaperClaim> claims;
  for (const auto& setting : kSettings)
    for (const auto rounds : kPaperRounds) claims.push_back(claim_of(setting, rounds));
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
