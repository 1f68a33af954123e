// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "comparison.hpp"
#include "io/json.hpp"
#include "report/table.hpp"
#include "report/trace.hpp"

namespace porter::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> folders;
  bool json = false, csv = false, markdown = false;
};

void print_json(const std::vector<Trace>& traces) {
  nlohmann::ordered_json out;
  out["runs"] = nlohmann::ordered_json::parse(compare_runs(traces).to_json());
  out["notes"] = compare_notes(traces);
  out["privacy"] = nlohmann::ordered_json::array();
  for (const auto& group : privacy_groups(traces))
    out["privacy"].push_back(
        {{"statement", group.text}, {"guaranteed", group.guaranteed}, {"runs", group.runs}});
  std::cout << json_text(out, 2) << '\n';
}

}  // namespace

void print_comparison(const std::vector<Trace>& traces, bool markdown) {
  const auto table = compare_runs(traces);
  const char* bullet = markdown ? "- " : "  ";
  std::cout << (markdown ? table.to_markdown() : table.to_text()) << '\n';
  std::cout
      << bullet
      << "Figures of the last evaluation, at the average of the agents unless said otherwise; "
      << (markdown ? "bold" : "*") << ": best of the runs that did not diverge.\n";
  for (const auto& note : compare_notes(traces)) std::cout << bullet << note << '\n';
  for (const auto& group : privacy_groups(traces))
    std::cout << bullet << "Privacy of " << group.run_list() << ": " << group.text << '\n';
}

namespace {

void compare(const Options& options) {
  const auto traces = load_traces(options.folders);
  if (options.json)
    print_json(traces);
  else if (options.csv)
    std::cout << compare_runs(traces).to_csv();
  else
    print_comparison(traces, options.markdown);
}

}  // namespace

void add_compare_command(App& app) {
  auto* command = app.add_subcommand("compare", "print a table over finished runs");
  const auto options = std::make_shared<Options>();
  command
      ->add_option("folders", options->folders,
                   "run folders, or folders that hold several run folders")
      ->type_name("DIR")
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
