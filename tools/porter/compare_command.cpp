// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "grid/find_runs.hpp"
#include "io/json.hpp"
#include "report/table.hpp"

namespace porter::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CompareArguments {
  std::vector<std::filesystem::path> folders;
  bool json = false, csv = false, markdown = false, each_seed = false;
};

std::string as_json(const FoundRuns& found, const std::vector<RunGroup>& groups) {
  Json out = {{"runs", Json::parse(compare_runs(groups).to_json())},
              {"notes", compare_notes(groups)},
              {"privacy", Json::array()},
              {"read", found.found},
              {"skipped", skipped_runs(found)}};
  for (const auto& group : privacy_groups(groups))
    out["privacy"].push_back(
        {{"statement", group.text}, {"guaranteed", group.guaranteed}, {"runs", group.runs}});
  return json_text(out, 2) + "\n";
}

void compare(const CompareArguments& options) {
  auto found = find_runs(options.folders);
  const auto groups = options.each_seed ? each_alone(std::move(found.traces))
                                        : group_by_seed(std::move(found.traces));
  if (options.json) {
    fmt::print("{}", as_json(found, groups));
    return;
  }
  if (options.csv)
    fmt::print("{}", compare_runs(groups).to_csv());
  else
    fmt::print("{}", comparison_text(groups, options.markdown));
  const char* bullet = options.markdown ? "- " : "  ";
  for (const auto& text : source_lines(found))
    fmt::print(options.csv ? stderr : stdout, "{}{}\n", bullet, text);
}

}  // namespace

void add_compare_command(App& app) {
  auto* command = app.add_subcommand("compare", "print a table over runs");
  const auto options = std::make_shared<CompareArguments>();
  command->add_option("folders", options->folders, kRunFoldersHelp, "DIR")->required();
  command->add_flag("--each-seed", options->each_seed, kEachSeedHelp);
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
      "'bits/agent' what one agent sent. Notes below the table say what was not private, what was\n"
      "read and what was skipped. See docs/reports.md.");
  command->callback([options] { compare(*options); });
}

}  // namespace porter::cli
