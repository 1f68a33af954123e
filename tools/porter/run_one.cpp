// SPDX-License-Identifier: Apache-2.0
#include "run_one.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>

#include "command_line.hpp"
#include "porter/core/error.hpp"
#include "progress.hpp"
#include "train/measure.hpp"

namespace porter::cli {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

extern "C" void on_signal(int signal) {
  g_interrupted = 1;
  std::signal(signal, SIG_DFL);
}

// "test RMSE 0.31, R2 0.87"; no R2 where all targets are equal.
std::string fit_text(const char* of, std::optional<double> rmse, std::optional<double> r2) {
  auto text = fmt::format("{} RMSE {:.4g}", of, rmse.value_or(0));
  return r2 ? text + fmt::format(", R2 {:.4f}", *r2) : text;
}

void print_result(const Trainer& trainer, const MetricsRow& row) {
  if (row.raw)
    fmt::print("loss {:.6g}, utility {:.4g}, |grad|^2 {:.4g}", row.loss, row.utility,
               row.grad_norm_sq);
  else
    fmt::print("no figures of the training data: the noise is secret, and no epsilon covers them");
  if (row.test_accuracy) fmt::print(", test accuracy {:.2f} %", 100 * *row.test_accuracy);
  if (trainer.facts().majority_rate && row.test_accuracy)
    fmt::print(" (majority class {:.2f} %)", 100 * *trainer.facts().majority_rate);
  if (row.train_rmse && row.raw)
    fmt::print(", {}", fit_text("train", row.train_rmse, row.train_r2));
  if (row.test_rmse) fmt::print(", {}", fit_text("test", row.test_rmse, row.test_r2));
  fmt::print("\n");
  if (row.agent_accuracy_mean || row.agent_rmse_mean) {
    if (row.agent_accuracy_mean)
      fmt::print("agents: accuracy mean {:.2f} %, worst {:.2f} %; ", 100 * *row.agent_accuracy_mean,
                 100 * *row.agent_accuracy_worst);
    else
      fmt::print("agents: {}; {}; ", fit_text("mean", row.agent_rmse_mean, row.agent_r2_mean),
                 fit_text("worst", row.agent_rmse_worst, row.agent_r2_worst));
    if (row.raw) fmt::print("loss worst {:.6g}; ", row.agent_loss_worst);
    fmt::print("consensus error {:.3g}\n", row.consensus_error);
  }
  if (row.ema_test_accuracy)
    fmt::print("moving average (x_ema): test accuracy {:.2f} %, agents mean {:.2f} %\n",
               100 * *row.ema_test_accuracy, 100 * *row.ema_agent_accuracy_mean);
  if (row.ema_test_rmse)
    fmt::print("moving average (x_ema): test RMSE {:.4g}\n", *row.ema_test_rmse);
  fmt::print("{} sent per agent; {:.3g} ms a round; {:.1f} s training, {:.1f} s evaluating\n",
             human_bits(row.bits_per_agent),
             1e3 * trainer.now().training_seconds / std::max(1U, trainer.round()),
             trainer.now().training_seconds, trainer.now().evaluation_seconds);
}

void print_outcome(const Trainer& trainer, TrainStatus status, const std::filesystem::path& out) {
  const auto folder_name = out.string();
  const auto rounds = trainer.config().algorithm.rounds;
  if (status == TrainStatus::diverged)
    fail(ErrorKind::numeric, "diverged after round ", trainer.round(),
         ": the loss is not finite, or an agent is further off than clip, step size, noise and "
         "rounds can have taken it; the metrics so far are in ",
         folder_name, "/metrics.csv. A smaller algorithm.step or algorithm.consensus may help");
  if (const auto& last = trainer.now().previous) print_result(trainer, *last);
  if (trainer.releases() != rounds)  // else it stands above
    fmt::print("privacy: {}\n", trainer.privacy().sentence(trainer.releases()));
  if (status == TrainStatus::interrupted)
    fmt::print(
        "interrupted after round {} of {}; resume with:\n  {} run {}/config.toml --out {} "
        "--resume\n",
        trainer.round(), rounds, command_name(), folder_name, folder_name);
  else if (status == TrainStatus::budget_spent)
    fmt::print(
        "the privacy budget is spent after {} releases; {} of {} rounds done, the model is in {}\n",
        trainer.releases(), trainer.round(), rounds, folder_name);
  else
    fmt::print("results in {}\n", folder_name);
}

// What is measured is released once, so before it is the folder must be the right one.
void check_before_measuring(const Config& config, const std::filesystem::path& out,
                            ExistingRun existing) {
  RunFolder::check_free(out, existing);
  if (existing == ExistingRun::resume && std::filesystem::exists(out / "config.toml"))
    require(measured_schema(config, out) != nullptr, ErrorKind::usage,
            "cannot resume: ", out.string(), " was made without what data.schema says is measured");
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

std::string command_name() {
  const char* name = std::getenv("PORTER_COMMAND");
  return name ? name : "porter";
}

bool interrupted() { return g_interrupted != 0; }

ExistingRun OutOptions::existing(const char* what) const {
  require(!resume || !out.empty(), ErrorKind::usage, "--resume needs --out with the folder of the ",
          what);
  return resume ? ExistingRun::resume : force ? ExistingRun::replace : ExistingRun::refuse;
}

std::filesystem::path OutOptions::folder(const std::string& name) const {
  if (!out.empty()) return out;
  const auto base =
      fmt::format("runs/{}-{:%Y%m%d-%H%M%S}", name, fmt::localtime(std::time(nullptr)));
  std::filesystem::path path = base;
  for (int i = 2; std::filesystem::exists(path); ++i) path = fmt::format("{}-{}", base, i);
  return path;
}

void print_facts(const RunParts& parts) {
  const auto& [config, facts] = std::tie(parts.config, parts.facts);
  fmt::print("{}: {} agents with {} samples each; {}\n", config.algorithm.name, facts.agents,
             facts.samples_per_agent, facts.data_source);
  fmt::print("{} with d = {}; {}", config.model.name, facts.dim, config.algorithm.compressor);
  if (facts.compression.kept) fmt::print(" (k = {})", *facts.compression.kept);
  if (facts.compression.rho) fmt::print(", rho = {:.4g}", *facts.compression.rho);
  if (parts.network)
    fmt::print("; {}, {}: alpha = {:.4g}", config.network.graph, config.network.mixing,
               *parts.alpha());
  fmt::print("\nstep {}", config.algorithm.step);
  if (parts.network) fmt::print(", consensus {}", config.algorithm.consensus);
  fmt::print("\nprivacy: {}\n", parts.privacy->sentence(config.algorithm.rounds));
  for (const auto& note : facts.notes) fmt::print("note: {}\n", note);
  if (!facts.data_warning.empty()) fmt::print("warning: {}\n", facts.data_warning);
  std::fflush(stdout);
}

RunParts read_and_assemble(const Config& config) {
  ReadingLine line;
  return assemble(config, {.reading = line.hook()});
}

TrainStatus train_and_show(const Trainer& trainer, const std::filesystem::path& out,
                           const std::function<TrainStatus(const std::vector<Observer>&)>& train) {
  Progress progress(trainer, trainer.config().algorithm.name);
  const auto status = train({progress.observer(), {.stop_requested = interrupted}});
  progress.close();
  print_outcome(trainer, status, out);
  return status;
}

TrainStatus run_one(const Config& config, const std::filesystem::path& out, ExistingRun existing,
                    bool raw_metrics, const std::function<void(RunParts&)>& prepare) {
  const bool resumes = existing == ExistingRun::resume;
  if (claims_guarantee(config) && measures_statistics(config))
    with_hint(ErrorKind::usage, kFolderHint,
              [&] { check_before_measuring(config, out, existing); });
  const auto complete = with_complete_schema(config, out);
  auto parts = read_and_assemble(resumes ? RunFolder::with_known_steps(out, complete) : complete);
  const bool extends = resumes && RunFolder::is_extension(out, parts.config);
  if (resumes && !extends && RunFolder::recorded_status(out) == TrainStatus::finished) {
    fmt::print("{} is finished already; nothing to resume. More algorithm.rounds extend it\n",
               out.string());
    return TrainStatus::finished;
  }
  prepare(parts);
  Trainer trainer(std::move(parts));
  if (raw_metrics) trainer.include_raw_metrics();
  auto folder =
      with_hint(ErrorKind::usage, kFolderHint, [&] { return RunFolder(out, trainer, existing); });
  if (resumes) with_hint(ErrorKind::usage, kFolderHint, [&] { folder.restore(trainer); });
  print_facts(trainer.parts());
  if (resumes)
    fmt::print("{} after round {}\n", extends ? "extending a finished run" : "resuming",
               trainer.round());
  return train_and_show(trainer, out, [&](const std::vector<Observer>& observers) {
    return train_in_folder(trainer, folder, observers);
  });
}

}  // namespace porter::cli
