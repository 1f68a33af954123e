// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.hpp"
#include "live_page.hpp"
#include "porter/core/error.hpp"
#include "porter/cuda/cuda.hpp"
#include "run_ranks.hpp"

namespace porter::cli {
namespace {

struct RunArguments {
  std::string config;
  std::vector<std::string> overrides;
  OutOptions out;
  bool dry_run = false;
  RankOptions ranks;
};

// Where the config says so, a GPU computes.
void choose_device(RunParts& parts) {
  if (parts.config.run.engine != EngineKind::cuda) return;
  const auto advice = use_cuda(parts);
  if (!advice.empty()) fmt::print("note: {}\n", advice);
}

int run_config(const RunArguments& options) {
  const auto existing = options.out.existing("run");
  const auto config = load_config(options.config, options.overrides);
  require(config.run.engine != EngineKind::tls, ErrorKind::usage,
          "run.engine: networked agents are started by porter agent, each with its own data, or "
          "all on this machine by porter cluster");
  if (options.dry_run) {
    auto parts = read_and_assemble(config);
    choose_device(parts);
    print_facts(parts);
    fmt::print("{} evaluations\n\n{}", parts.facts.evaluation_rounds.size(), to_toml(parts.config));
    return 0;
  }
  catch_interrupts();
  const auto out = options.out.folder(config.algorithm.name);
  std::optional<LivePage> page;
  if (config.run.engine != EngineKind::mpi) start_live_page(options.ranks.live, out, page);
  const auto status =
      config.run.engine == EngineKind::mpi
          ? run_on_ranks(config, out, existing, options.ranks)
          : run_one(config, out, existing, options.ranks.raw_metrics, choose_device);
  return status == TrainStatus::interrupted ? 1 : 0;
}

}  // namespace

void add_run_command(App& app) {
  auto* command = app.add_subcommand("run", "train one model as a config file says");
  auto options = std::make_shared<RunArguments>();
  command->add_option("config", options->config, "the config file (TOML)")->required();
  command->add_overrides(options->overrides, "override a key, e.g. --set algorithm.step=0.05");
  command->add_option("--out", options->out.out, "folder of the run (default: runs/NAME-TIME)");
  command->add_flag("--dry-run", options->dry_run,
                    "check everything and print the resolved config");
  auto* resume =
      command->add_flag("--resume", options->out.resume,
                        "continue the run in --out from its checkpoint; the config must be "
                        "the same, run.threads, run.checkpoint and run.engine aside. More "
                        "algorithm.rounds extend a finished run");
  command->add_flag("--force", options->out.force, "replace the run in --out")->excludes(resume);
  command->add_flag("--raw-metrics", options->ranks.raw_metrics,
                    "with privacy.noise = \"secure\": also write losses, gradient norms and "
                    "accuracies of the training data. They are exact, so whoever sees metrics.csv, "
                    "summary.json or the terminal learns more than the certified epsilon allows");
  command
      ->add_option("--watchdog", options->ranks.watchdog_seconds,
                   "with MPI: a rank that gives no sign of life for so long ends the job",
                   "SECONDS")
      ->range(1.0, 1e6);
  command->add_option("--trace", options->ranks.trace,
                      "with MPI: rank R writes what each round did when, for chrome://tracing, to "
                      "FILE.R");
  options->ranks.live.add_to(*command);
  command->footer(
      "The folder gets config.toml (resolved), metrics.csv, summary.json, privacy.json, graph.svg, "
      "model.npz\n"
      "and checkpoint/. Ctrl-C writes a checkpoint. docs/config.md explains the config.\n"
      "On a cluster: mpirun -n RANKS porter run CONFIG --set run.engine=mpi --out DIR, with up to\n"
      "one rank per agent; the results have the same bits. So they have with run.engine=cuda, on "
      "one\n"
      "GPU, which docs/gpu.md describes.");
  command->callback([options] { return run_config(*options); });
}

}  // namespace porter::cli
