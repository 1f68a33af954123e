// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "porter/core/bytes.hpp"
#include "porter/run/experiment.hpp"

namespace porter {

/// A message that neighbours may ask for again.
struct SentMessage {
  std::uint32_t step;
  Payload bytes;
};

/// What an agent needs to go on: a snapshot of the experiment, and the messages that neighbours who
/// restart from an older checkpoint of theirs may still want.
struct AgentCheckpoint {
  std::uint32_t round;
  Npz snapshot;
  std::vector<SentMessage> sent;
};

/// The files of one agent.
class AgentFolder {
 public:
  /// Makes the folder and its config.toml, or finds them. Error{usage} if it holds the run of
  /// another config or other files.
  AgentFolder(std::filesystem::path path, const Config& config);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path lock_file() const { return path_ / "checkpoint" / "lock"; }
  std::filesystem::path journal_file() const { return path_ / "checkpoint" / "releases"; }

  std::optional<AgentCheckpoint> load_checkpoint() const;
  /// On disk when this returns.
  void save_checkpoint(AgentCheckpoint checkpoint) const;
  /// model.npz, whose x_mean and only row of X are the agent's own x; privacy.json.
  void write_results(Experiment& experiment) const;
  /// All neighbours have finished, too: nobody will ask this agent for anything again.
  void mark_finished() const;
  bool is_finished() const;

 private:
  std::filesystem::path checkpoint_file() const { return path_ / "checkpoint" / "checkpoint.npz"; }
  std::filesystem::path finished_file() const { return path_ / "checkpoint" / "finished"; }

  std::filesystem::path path_;
};

}  // namespace porter
