// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "commands.hpp"
#include "porter/core/error.hpp"
#include "run_one.hpp"

namespace porter::cli {
namespace {

struct Options {
  std::string config, out;
  std::vector<std::string> overrides;
  bool dry_run = false, resume = false, force = false;
  RankOptions ranks;
};

// runs/NAME-TIME, with a number behind it if that exists.
std::filesystem::path fresh_folder(const std::string& name) {
  const auto base =
      fmt::format("runs/{}-{:%Y%m%d-%H%M%S}", name, fmt::localtime(std::time(nullptr)));
  std::filesystem::path path = base;
  for (int i = 2; std::filesystem::exists(path); ++i) path = fmt::format("{}-{}", base, i);
  return path;
}

int run(const Options& options) {
  require(!options.resume || !options.out.empty(), ErrorKind::usage,
          "--resume needs --out with the folder of the run");
  const auto config = load_config(options.config, options.overrides);
  require(config.run.engine != EngineKind::tls, ErrorKind::usage,
          "run.engine: networked agents are started by porter agent, each with its own data, or "
          "all on this machine by porter cluster");
  if (options.dry_run) {
    const auto parts = assemble(config);
    print_facts(parts);
    fmt::print("{} evaluations\n\n{}", parts.facts.evaluation_rounds.size(), to_toml(config));
    return 0;
  }
  catch_interrupts();
  const auto existing = options.resume  ? ExistingRun::resume
                        : options.force ? ExistingRun::replace
                                        : ExistingRun::refuse;
  const auto out = options.out.empty() ? fresh_folder(config.algorithm.name)
                                       : std::filesystem::path(options.out);
  const auto status = config.run.engine == EngineKind::mpi
                          ? run_on_ranks(config, out, existing, options.ranks)
                          : run_one(config, out, existing, options.ranks.raw_metrics);
  return status == TrainStatus::interrupted ? 1 : 0;
}

}  // namespace

void add_run_command(App& app, int& exit_code) {
  auto* command = app.add_subcommand("run", "train one model as a config file says");
  auto options = std::make_shared<Options>();
  command->add_option("config", options->config, "the config file (TOML)")->required();
  command->add_overrides(options->overrides, "override a key, e.g. --set algorithm.step=0.05");
  command->add_option("--out", options->out, "folder of the run (default: runs/NAME-TIME)");
  command->add_flag("--dry-run", options->dry_run,
                    "check everything and print the resolved config");
  auto* resume =
      command->add_flag("--resume", options->resume,
                        "continue the run in --out from its checkpoint; the config must be "
                        "the same, run.threads, run.checkpoint and run.engine aside");
  command->add_flag("--force", options->force, "replace the run in --out")->excludes(resume);
  command->add_flag("--raw-metrics", options->ranks.raw_metrics,
                    "with privacy.noise = \"secure\": also write losses, gradient norms and "
                    "accuracies of the training data. They are exact, so whoever sees metrics.csv, "
                    "summary.json or the terminal learns more than the certified epsilon allows");
  command
      ->add_option("--watchdog", options->ranks.watchdog_seconds,
                   "with MPI: a rank that gives no sign of life for so long ends the job")
      ->type_name("SECONDS")
      ->range(1.0, 1e6)
      ->capture_default_str();
  command->add_option("--trace", options->ranks.trace,
                      "with MPI: rank R writes what each round did when, for chrome://tracing, to "
                      "FILE.R");
  command->footer(
      "The folder gets config.toml (resolved), metrics.csv, summary.json, privacy.json, graph.svg, "
      "model.npz\n"
      "and checkpoint/. Ctrl-C writes a checkpoint. docs/architecture.md explains the config.\n"
      "On a cluster: mpirun -n RANKS porter run CONFIG --set run.engine=mpi --out DIR, with up to\n"
      "one rank per agent; the results have the same bits.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace porter::cli
