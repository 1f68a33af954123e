// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.hpp"
#include "io/file.hpp"
#include "report/page.hpp"

namespace porter::cli {
namespace {

struct ReportArguments {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path out = "report.html";
  std::string title = "Training report", intro;
};

void report(const ReportArguments& options) {
  const auto traces = load_traces(options.folders);
  write_file(options.out, html_report(options.title, options.intro, traces));
  fmt::print("wrote {} ({} run{})\n", options.out.string(), traces.size(),
             traces.size() == 1 ? "" : "s");
}

}  // namespace

void add_report_command(App& app) {
  auto* command = app.add_subcommand("report", "write one self-contained HTML page over runs");
  const auto options = std::make_shared<ReportArguments>();
  command
      ->add_option("folders", options->folders,
                   "run folders, or folders that hold several run folders", "DIR")
      ->required();
  command->add_option("--out", options->out, "where to write the page", "FILE");
  command->add_option("--title", options->title, "title of the page", "TEXT");
  command->add_option("--intro", options->intro, "a paragraph to stand below the title", "TEXT");
  command->footer(
      "The page needs no network and no other file: summary table, privacy statements, plots\n"
      "against rounds and bits, the graph, every resolved config and how to repeat each run.");
  command->callback([options] { report(*options); });
}

}  // namespace porter::cli
