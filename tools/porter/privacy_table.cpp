// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "commands.hpp"
#include "io/json.hpp"
#include "report/table.hpp"
#include "reproduce/closed_forms.hpp"

namespace porter::cli {
namespace {

Table as_table(const std::vector<PaperClaim>& claims) {
  Table table{{text_column("data", "data"), {"claimed", "claimed"}}};
  for (const auto rounds : kPaperRounds)
    table.columns.push_back(text_column(fmt::format("T{}", rounds),
                                        fmt::format("T = 1e{}", std::lround(std::log10(rounds)))));
  for (const auto& claim : claims) {
    if (claim.rounds == kPaperRounds[0])
      table.rows.push_back({{fmt::format("{} (m = {})", claim.data, claim.records)},
                            {fmt::format("{:g}", claim.claimed), claim.claimed}});
    table.rows.back().push_back(
        {fmt::format("[{}, {}]{}", rounded_down(claim.epsilon.lower, 4),
                     rounded_up(claim.epsilon.upper, 4), claim.broken() ? " !" : "")});
  }
  return table;
}

std::string as_json(const std::vector<PaperClaim>& claims) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& claim : claims)
    json.push_back({{"data", claim.data},
                    {"m", claim.records},
                    {"epsilon_claimed", claim.claimed},
                    {"rounds", claim.rounds},
                    {"delta", kPaperDelta},
                    {"sigma", claim.sigma},
                    {"epsilon", claim.epsilon.upper},
                    {"epsilon_lower", claim.epsilon.lower},
                    {"claim_is_broken", claim.broken()}});
  return json_text(json, 2) + "\n";
}

void show_table(bool json, bool markdown) {
  const auto claims = paper_claims();
  const auto table = as_table(claims);
  fmt::print("{}", json ? as_json(claims)
                        : (markdown ? table.to_markdown() : table.to_text()) +
                              "\n[attack, certified] epsilon of sigma = sqrt(T log(1/delta)) / (m "
                              "claimed) at delta = 0.001: batches of one\nrecord, clip 1, "
                              "replace-one neighbours. ! marks claims that the attack alone "
                              "breaks.\n");
}

}  // namespace

void add_privacy_table(App& privacy) {
  auto* command = privacy.add_subcommand(
      "table", "what the paper's formula for sigma is worth, in its own 16 settings");
  const auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false);
  auto* as_json = command->add_flag("--json", *json, "Print JSON");
  command->add_flag("--markdown", *markdown, "Print Markdown")->excludes(as_json);
  command->callback([json, markdown] { show_table(*json, *markdown); });
}

}  // namespace porter::cli
