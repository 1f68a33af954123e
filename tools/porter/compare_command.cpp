// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "io/json.hpp"
#include "report/table.hpp"

namespace porter::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CompareArguments {
  std::vector<std::filesystem::path> folders;
  bool json = false, csv = false, markdown = false;
};

std::string as_json(const std::vector<Trace>& traces) {
  Json out = {{"runs", Json::parse(compare_runs(traces).to_json())},
              {"notes", compare_notes(traces)},
              {"privacy", Json::array()}};
  for (const auto& group : privacy_groups(traces))
    out["privacy"].push_back(
        {{"statement", group.text}, {"guaranteed", group.guaranteed}, {"runs", group.runs}});
  return json_text(out, 2) + "\n";
}

void compare(const CompareArguments& options) {
  const auto traces = load_traces(options.folders);
  fmt::print("{}", options.json  ? as_json(traces)
                   : options.csv ? compare_runs(traces).to_csv()
                                 : comparison_text(traces, options.markdown));
}

}  // namespace

void add_compare_command(App& app) {
  auto* command = app.add_subcommand("compare", "print a table over finished runs");
  const auto options = std::make_shared<CompareArguments>();
  command
      ->add_option("folders", options->folders,
                   "run folders, or folders that hold several run folders", "DIR")
      ->required();
  auto* json = command->add_flag("--json", options->json, "full precision, as one JSON object");
  auto* csv = command->add_flag("--csv", options->csv, "full precision, as comma-separated values");
  auto* markdown = command->add_flag("--markdown", options->markdown, "as a Markdown table");
  json->excludes(csv)->excludes(markdown);
  csv->excludes(markdown);
  command->footer(
      "Each row shows the last evaluation of a run. 'worst acc.' and 'worst loss' are those of "
      "the\n"
      "agent that does worst, 'consensus' the distance of the agents from their "
      "average,\n"
      "'bits/agent' what one agent sent. Notes below the table say what was not private.");
  command->callback([options] { compare(*options); });
}

}  // namespace porter::cli
