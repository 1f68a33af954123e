// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.hpp"
#include "grid/find_runs.hpp"
#include "io/file.hpp"
#include "report/page.hpp"

namespace porter::cli {
namespace {

struct ReportArguments {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path out = "report.html";
  std::string title = "Training report", intro;
  bool each_seed = false;
};

void report(const ReportArguments& options) {
  auto found = find_runs(options.folders);
  const auto runs = found.traces.size();
  const auto groups = options.each_seed ? each_alone(std::move(found.traces))
                                        : group_by_seed(std::move(found.traces));
  write_file(options.out, html_report({.title = options.title,
                                       .intro = options.intro,
                                       .sources = source_lines(found, false)},
                                      groups, found.under_way));
  for (const auto& text : source_lines(found)) fmt::print("{}\n", text);
  fmt::print("wrote {} ({} run{})\n", options.out.string(), runs, runs == 1 ? "" : "s");
}

}  // namespace

void add_report_command(App& app) {
  auto* command = app.add_subcommand("report", "write one self-contained HTML page over runs");
  const auto options = std::make_shared<ReportArguments>();
  command->add_option("folders", options->folders, kRunFoldersHelp, "DIR")->required();
  command->add_option("--out", options->out, "where to write the page", "FILE");
  command->add_option("--title", options->title, "title of the page", "TEXT");
  command->add_option("--intro", options->intro, "a paragraph to stand below the title", "TEXT");
  command->add_flag("--each-seed", options->each_seed, kEachSeedHelp);
  command->footer(
      "The page needs no network and no other file: summary table, privacy statements, plots\n"
      "against rounds, bytes and time, the graph, every resolved config and how to repeat each\n"
      "run. Runs that differ only in run.seed are one line: mean and band. See docs/reports.md.");
  command->callback([options] { report(*options); });
}

}  // namespace porter::cli
