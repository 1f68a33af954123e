// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "io/json.hpp"
#include "porter/privacy/batch_sampler.hpp"
#include "porter/privacy/ledger.hpp"
#include "report/text.hpp"

namespace porter::cli {
namespace {

struct LedgerArguments {
  std::string file;
  bool json = false;
};

EpsilonInterval spent(const LedgerView& view) {
  const auto& header = view.header;
  std::vector<PrivacyEvent> events;
  for (const auto& phase : view.phases) {
    const BatchSampler sampler(parse_choice<Sampler>(header.sampler), header.records, phase.batch);
    events.push_back(sampler.secure_event(parse_choice<Adjacency>(header.adjacency),
                                          phase.noise_stddev, header.clip, phase.charges));
  }
  return privacy::epsilon(events, secure_delta(header.delta));
}

std::string ledger_as_json(const LedgerArguments& options, const LedgerView& view) {
  const auto& header = view.header;
  nlohmann::ordered_json json = {
      {"file", options.file},
      {"verified", true},
      {"run_id", header.run_id},
      {"agent", header.agent},
      {"sampler", header.sampler},
      {"adjacency", header.adjacency},
      {"m", header.records},
      {"batch", header.batch},
      {"sigma", header.noise_stddev},
      {"clip", header.clip},
      {"delta", header.delta},
      {"budget_epsilon", header.epsilon},
      {"spent_epsilon", spent(view).upper},
      {"charges", view.charges},
      {"torn", view.torn},
      {"torn_tail", view.torn_tail},
      {"last_round", view.charges > view.torn ? nlohmann::ordered_json(view.last_round) : nullptr},
      {"phases", nlohmann::ordered_json::array()},
  };
  for (const auto& phase : view.phases)
    json["phases"].push_back(
        {{"sigma", phase.noise_stddev}, {"batch", phase.batch}, {"charges", phase.charges}});
  return json_text(json, 2) + "\n";
}

std::string charges_text(const LedgerView& view) {
  auto text = std::to_string(view.charges);
  if (view.torn > 0) text += fmt::format(", {} of them torn by a crash and counted", view.torn);
  if (view.torn_tail) text += " (the last is repaired when the run resumes)";
  return text;
}

std::string ledger_as_text(const LedgerArguments& options, const LedgerView& view) {
  const auto& header = view.header;
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<12}{}\n", name, value);
  };
  line("ledger", options.file + " (verified)");
  line("run", fmt::format("{}, agent {}", header.run_id, header.agent));
  line("event", fmt::format("{} sampling of {} of {} records, {} neighbours, sigma {}, clip {}",
                            header.sampler, header.batch, header.records, header.adjacency,
                            header.noise_stddev, header.clip));
  line("budget", fmt::format("epsilon {} at delta {}", header.epsilon, header.delta));
  line("spent", fmt::format("epsilon {}, certified", rounded_up(spent(view).upper)));
  line("charges", charges_text(view));
  if (view.charges > view.torn) line("last round", std::to_string(view.last_round));
  if (view.phases.size() > 1)
    for (const auto& phase : view.phases)
      line("phase", fmt::format("{} charges with sigma {}, batch {}", phase.charges,
                                phase.noise_stddev, phase.batch));
  return text;
}

void show_ledger(const LedgerArguments& options) {
  const auto view = read_ledger(options.file);
  fmt::print("{}", (options.json ? ledger_as_json : ledger_as_text)(options, view));
}

}  // namespace

void add_privacy_ledger(App& privacy) {
  auto* command = privacy.add_subcommand(
      "ledger", "show an agent's privacy ledger and verify every record of it");
  const auto options = std::make_shared<LedgerArguments>();
  command->add_option("file", options->file, "The ledger", "FILE")->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "\nA damaged, foreign or reordered ledger is refused with the offset of the damage.\n"
      "Reading takes no lock and repairs nothing, so it is safe while the agent runs; a\n"
      "charge that is being written at that moment may show as torn.");
  command->callback([options] { show_ledger(*options); });
}

}  // namespace porter::cli
