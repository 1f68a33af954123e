// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "porter/comm/mpi.hpp"
#include "porter/train/run_folder.hpp"

namespace porter {

/// train_in_folder for an trainer whose processes are the ranks of a job; called by all of them.
/// Rank 0 has the folder: metrics, checkpoints of the whole run as a simulation writes them (so a
/// run may be resumed with another number of ranks), final files. Each rank keeps the ledgers of
/// its agents in a folder of the same name. `existing` is as for RunFolder. The observers are
/// called on every rank; a stop that any rank is asked for stops all within a second or a round.
TrainStatus train_on_ranks(Trainer& trainer, MpiSession& session,
                           const std::filesystem::path& folder, ExistingRun existing,
                           std::vector<Observer> observers);

}  // namespace porter
