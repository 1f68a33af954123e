// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "porter/run/experiment.hpp"
#include "porter/run/sweep.hpp"

namespace porter {

/// One run of a sweep, up to some round.
struct SweepTrial {
  std::size_t setting = 0;
  std::uint64_t seed = 0;
  std::uint32_t target = 0;  ///< the round to pause at, or the last
  std::size_t threads = 1;
  std::filesystem::path checkpoint;  ///< continued from where it exists
};

struct SweepTrialHooks {
  std::function<bool()> stop_requested;
  std::function<void()> after_round;
};

/// Trains. Pausing leaves a checkpoint, ending removes it. Errors become the reason of a failed
/// run; nothing comes back when a stop was requested, and a checkpoint is left.
std::optional<SweepRun> run_trial(const Sweep& sweep, const SweepTrial& trial, RunDataCache& data,
                                  const std::shared_ptr<AccountantCache>& accounts,
                                  const SweepTrialHooks& hooks);

}  // namespace porter
