// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "porter/privacy/ledger.hpp"
#include "porter/train/train.hpp"

namespace porter {

/// The ledgers of the agents that a process computes, in FOLDER/ledger. Where the noise is not
/// secret there are none, and nothing is charged.
class Ledgers {
 public:
  /// Opens those of the trainer's hosted agents. They stand beside the checkpoint, not in it:
  /// restoring an older one never lowers epsilon. `started`: the run has released something, so a
  /// missing ledger is refused, and so is one with fewer than `at_least` charges. All stay open, so
  /// the process's limit of open files is raised where it is too low, and Error{io} where it
  /// cannot.
  void open(const std::filesystem::path& folder, const Trainer& trainer, bool started,
            std::uint64_t at_least);
  /// One more charge for every agent, on disk when this returns.
  void charge(const Trainer& trainer, std::uint32_t round);
  /// A crash between two ledgers leaves one behind. When the trainer knows the largest count,
  /// all are raised to it, so that no checkpoint counts more releases than a ledger does.
  void catch_up(const Trainer& trainer);
  /// Of the agent with the most charges, for rounds: those for statistics, which every ledger
  /// begins with, are not counted.
  std::uint64_t charges() const;

 private:
  void raise(const Trainer& trainer, std::uint64_t charges, std::uint32_t round);

  std::uint64_t before_ = 0;  // the charges for statistics
  std::vector<Ledger> ledgers_;
};

}  // namespace porter
