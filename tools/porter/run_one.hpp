// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "train/run_folder.hpp"

namespace porter::cli {

/// Turns the first Ctrl-C (or SIGTERM) into a request that stop_requested answers; a second one
/// kills.
void catch_interrupts();
bool interrupted();

/// As the user called it: the launcher says how.
std::string command_name();

/// Where results go, and what to do with those that are there.
struct OutOptions {
  std::string out;
  bool resume = false, force = false;

  /// Error{usage} unless there is a folder to resume; `what` is in it.
  ExistingRun existing(const char* what) const;
  /// The one given, or runs/NAME-TIME, with a number behind it if that exists.
  std::filesystem::path folder(const std::string& name) const;
};

/// assemble, with a line that shows how far files have been read; on a terminal only.
RunParts read_and_assemble(const Config& config);

/// Prints what a config turned out to be: data, network, noise, notes.
void print_facts(const RunParts& parts);

/// Calls `train` with observers that show progress and stop it when interrupted, then says how the
/// run ended and where its results are. Error{numeric} if it diverged.
TrainStatus train_and_show(const Trainer& trainer, const std::filesystem::path& out,
                           const std::function<TrainStatus(const std::vector<Observer>&)>& train);

/// Does so in the folder. `prepare` may change what the run is made of.
TrainStatus run_one(
    const Config& config, const std::filesystem::path& out, ExistingRun existing,
    bool raw_metrics = false, const std::function<void(RunParts&)>& prepare = [](RunParts&) {});

}  // namespace porter::cli
