// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.hpp"
#include "grid/sweep_report.hpp"
#include "io/file.hpp"
#include "live_page.hpp"
#include "porter/core/error.hpp"
#include "porter/cuda/cuda.hpp"
#include "progress.hpp"
#include "report/page.hpp"
#include "run_one.hpp"

namespace porter::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRows = 30;  // of the table on the terminal

struct SweepArguments {
  std::string config;
  std::vector<std::string> vary, overrides;
  OutOptions out;
  SweepOptions sweep;
  LiveOptions live;
  std::size_t jobs = 0;
  bool dry_run = false, json = false;
};

SweepOptions sweep_options(const SweepArguments& options) {
  auto out = options.sweep;
  for (const auto& text : options.vary) {
    const auto equals = text.find('=');
    require(equals != text.npos && equals > 0, ErrorKind::usage,
            "--vary: expected section.key=VALUES, found \"", text, "\"");
    out.vary.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

// What to type to get the same again.
std::string command_line(const SweepArguments& options) {
  std::string line = "porter sweep " + shell_word(options.config);
  for (const auto& vary : options.vary) line += " --vary " + shell_word(vary);
  for (const auto& set : options.overrides) line += " --set " + shell_word(set);
  const auto& sweep = options.sweep;
  if (sweep.random) line += fmt::format(" --random {}", *sweep.random);
  if (sweep.seeds) line += fmt::format(" --seeds {}", *sweep.seeds);
  if (sweep.folds) line += fmt::format(" --folds {}", *sweep.folds);
  if (sweep.metric) line += " --metric " + *sweep.metric;
  if (sweep.halving) line += fmt::format(" --halving {}", *sweep.halving);
  if (sweep.hopeless) line += fmt::format(" --hopeless {}", *sweep.hopeless);
  return line;
}

void print_plan(const Sweep& sweep) {
  fmt::print("{} settings, {} seeds {}each: {} runs, best by {} ({} is better)\n",
             sweep.settings.size(), sweep.seeds.size(),
             sweep.folds > 0 ? fmt::format("times {} folds ", sweep.folds) : "",
             sweep.settings.size() * sweep.trials().size(), sweep.metric.column.name,
             sweep.metric.higher_is_better ? "higher" : "lower");
  for (const auto& setting : sweep.settings)
    if (!setting.config) fmt::print("will fail: {}: {}\n", setting.name, setting.refused);
  std::fflush(stdout);
}

void print_result(const Sweep& sweep, const SweepResult& result, const fs::path& out) {
  auto table = sweep_table(sweep, result);
  const auto rows = table.rows.size();
  if (rows > kMaxRows) table.rows.resize(kMaxRows);
  fmt::print("\n{}", table.to_text());
  if (rows > kMaxRows) fmt::print("… and {} more in results.csv\n", rows - kMaxRows);
  fmt::print("\n");
  for (const auto& note : sweep_notes(sweep, result)) fmt::print("  {}\n", note);
  if (const auto* best = result.best())
    fmt::print("\nbest: {}\n  {} run {}\n", sweep.settings[best->setting].name, command_name(),
               (out / "best.toml").string());
  fmt::print("report: {}\n", fs::absolute(out / "report.html").lexically_normal().string());
}

int run_sweep_command(const SweepArguments& options) {
  const auto existing = options.out.existing("sweep");
  const auto sweep = load_sweep(options.config, options.overrides, sweep_options(options));
  if (!options.json) print_plan(sweep);
  if (options.dry_run) {
    if (!options.json)
      for (const auto& setting : sweep.settings) fmt::print("{}\n", setting.name);
    return 0;
  }
  catch_interrupts();
  const auto out = options.out.folder("sweep");
  std::optional<LivePage> page;
  start_live_page(options.live, out, page);
  GridProgress progress(sweep, "sweep", sweep.metric);
  auto hooks = progress.hooks(options.jobs);
  hooks.prepare = [queue = make_device_queue()](RunParts& parts) {
    if (parts.config.run.engine == EngineKind::cuda) use_cuda(parts, queue);
  };
  const auto result = with_hint(ErrorKind::usage, kFolderHint,
                                [&] { return run_sweep(sweep, out, existing, hooks); });
  progress.close();
  if (!result) {
    fmt::print(stderr, "interrupted; resume with:\n  {} sweep {} --out {} --resume\n",
               command_name(), (out / "sweep.toml").string(), out.string());
    return 1;
  }
  write_file(out / "report.html", sweep_page(sweep, *result, command_line(options), out.string()));
  if (options.json)
    fmt::print("{}", sweep_summary_json(sweep, *result));
  else
    print_result(sweep, *result, out);
  std::fflush(stdout);
  require(result->best() != nullptr, ErrorKind::numeric, "no setting finished; the reasons are in ",
          (out / "results.csv").string(), "; the first is: ", result->ranked.front().reason);
  return 0;
}

}  // namespace

void add_sweep_command(App& app) {
  auto* command = app.add_subcommand(
      "sweep", "search for the best settings: a grid or at random, several seeds");
  auto options = std::make_shared<SweepArguments>();
  command
      ->add_option("config", options->config, "the config file (TOML), may have a [sweep] section")
      ->required();
  command->add_repeated(
      "--vary", options->vary,
      "a key and what to try: 0.01,0.1 | log:0.01..1:5 | lin:1..3:5 | intlog:1..64:7",
      "SECTION.KEY=VALUES");
  command->add_option("--random", options->sweep.random,
                      "draw N settings instead of the whole grid; ranges then need no count", "N");
  command->add_option("--seeds", options->sweep.seeds, "runs of each setting (default 3)", "N");
  command->add_option("--folds", options->sweep.folds,
                      "cross-validation, for data without a test set: every setting runs with each "
                      "of K equal parts of the rows as its test set",
                      "K");
  command->add_option("--metric", options->sweep.metric,
                      "column of metrics.csv to choose by, at the last round (default loss; with "
                      "--folds test_loss)",
                      "NAME");
  command->add_option("--halving", options->sweep.halving,
                      "N times, at rounds T/2^N, ..., T/2, drop the worse half of the settings",
                      "N");
  command->add_option("--hopeless", options->sweep.hopeless,
                      "give a run up when its loss is this many times that of the start "
                      "(default 10; 0: never)",
                      "FACTOR");
  command->add_overrides(options->overrides, "override a key for all settings");
  command->add_option("--out", options->out.out, "folder of the sweep (default: runs/sweep-TIME)");
  command->add_option("--jobs", options->jobs, "runs at the same time (default: one per core)", "N")
      ->range(1, 1024);
  command->add_flag("--json", options->json, "print summary.json instead of the table");
  command->add_flag("--dry-run", options->dry_run, "check everything and list the settings");
  auto* resume = command->add_flag("--resume", options->out.resume, "continue the sweep in --out");
  command->add_flag("--force", options->out.force, "replace the sweep in --out")->excludes(resume);
  options->live.add_to(*command);
  command->footer(
      "The folder gets results.csv (every run; failed ones with the reason), summary.json,\n"
      "best.toml (run it with porter run), report.html, sweep.toml (repeats the sweep) and\n"
      "journal.jsonl. Results do not depend on --jobs or on interruptions. The epsilon of a run "
      "does\n"
      "not cover the search on the same data. See docs/sweep.md.");
  command->callback([options] { return run_sweep_command(*options); });
}

}  // namespace porter::cli
