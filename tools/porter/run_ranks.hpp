// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "live_page.hpp"
#include "run_one.hpp"

namespace porter::cli {

struct RankOptions {
  bool raw_metrics = false;      ///< with secret noise, figures of the training data all the same
  double watchdog_seconds = 60;  ///< after which a silent rank ends the job
  std::string trace = {};        ///< PATH: rank R writes PATH.R; empty: no trace
  LiveOptions live = {};         ///< of rank 0
};

/// Trains in the folder as one rank of an MPI job; rank 0 shows how it goes.
TrainStatus run_on_ranks(const Config& config, const std::filesystem::path& out,
                         ExistingRun existing, const RankOptions& options);

}  // namespace porter::cli
