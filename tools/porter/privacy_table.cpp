// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <memory>

#include "porter/report/table.hpp"
#include "privacy_commands.hpp"
#include "privacy_options.hpp"

namespace porter::cli {
namespace {

constexpr double kDelta = 1e-3;

// Table 1 of the paper's experiments: b = 1, clip 1.
struct Setting {
  const char* data;
  std::size_t records;
  double claimed;
};
constexpr Setting kSettings[] = {
    {"a9a", 3256, 0.01}, {"a9a", 3256, 0.1}, {"MNIST", 6000, 0.01}, {"MNIST", 6000, 0.1}};
constexpr std::uint64_t kRounds[] = {1000, 10'000, 100'000, 1'000'000};

struct Cell {
  Setting setting;
  std::uint64_t rounds;
  double sigma;
  EpsilonInterval epsilon;
};

// Equation (7) of the paper with tau = 1: sigma = sqrt(T log(1/delta)) / (m epsilon).
Cell cell_of(const Setting& setting, std::uint64_t rounds) {
  const double sigma = std::sqrt(static_cast<double>(rounds) * std::log(1 / kDelta)) /
                       (static_cast<double>(setting.records) * setting.claimed);
  PrivacyEvent event;
  event.records = setting.records;
  event.batch = 1;
  event.noise_multiplier = noise_multiplier(sigma, 1, 1);
  event.steps = rounds;
  return {setting, rounds, sigma, epsilon(event, kDelta)};
}

bool breaks_the_claim(const Cell& cell) { return cell.epsilon.lower > cell.setting.claimed; }

Table as_table(const std::vector<Cell>& cells) {
  Table table{{{"data", "data", Better::neither, true}, {"claimed", "claimed"}}, {}};
  for (const auto rounds : kRounds)
    table.columns.push_back({fmt::format("T{}", rounds),
                             fmt::format("T = 1e{}", std::lround(std::log10(rounds))),
                             Better::neither, true});
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto& cell = cells[i];
    if (i % std::size(kRounds) == 0)
      table.rows.push_back({{fmt::format("{} (m = {})", cell.setting.data, cell.setting.records)},
                            {fmt::format("{:g}", cell.setting.claimed), cell.setting.claimed}});
    table.rows.back().push_back(
        {fmt::format("[{}, {}]{}", rounded_down(cell.epsilon.lower, 4),
                     rounded_up(cell.epsilon.upper, 4), breaks_the_claim(cell) ? " !" : "")});
  }
  return table;
}

std::string as_json(const std::vector<Cell>& cells) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& cell : cells)
    json.push_back({{"data", cell.setting.data},
                    {"m", cell.setting.records},
                    {"epsilon_claimed", cell.setting.claimed},
                    {"rounds", cell.rounds},
                    {"delta", kDelta},
                    {"sigma", cell.sigma},
                    {"epsilon", cell.epsilon.upper},
                    {"epsilon_lower", cell.epsilon.lower},
                    {"claim_is_broken", breaks_the_claim(cell)}});
  return json.dump(2) + "\n";
}

void run(bool json, bool markdown) {
  std::vector<Cell> cells;
  for (const auto& setting : kSettings)
    for (const auto rounds : kRounds) cells.push_back(cell_of(setting, rounds));
  if (json) {
    std::cout << as_json(cells);
    return;
  }
  const auto table = as_table(cells);
  std::cout
      << (markdown ? table.to_markdown() : table.to_text())
      << "\n[attack, certified] epsilon of sigma = sqrt(T log(1/delta)) / (m claimed) at delta "
         "= 0.001: batches of one\nrecord, clip 1, replace-one neighbours. ! marks claims "
         "that the attack alone breaks.\n";
}

}  // namespace

void add_privacy_table(CLI::App& privacy) {
  auto* command = privacy.add_subcommand(
      "table", "what the paper's formula for sigma is worth, in its own 16 settings");
  const auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false);
  auto* as_json = command->add_flag("--json", *json, "Print JSON");
  command->add_flag("--markdown", *markdown, "Print Markdown")->excludes(as_json);
  command->callback([json, markdown] { run(*json, *markdown); });
}

}  // namespace porter::cli
