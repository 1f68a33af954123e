// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "file_journal.hpp"
#include "porter/train/train.hpp"
#include "sent_log.hpp"

namespace porter {

/// What an agent needs to go on: its part of the run, and the messages that neighbours who restart
/// from an older checkpoint of theirs may still want.
struct AgentCheckpoint {
  Checkpoint run;
  SentLog sent = {};
  /// Not empty: why the newest one cannot be used, and this is the one before.
  std::string damage = {};

  std::uint32_t round() const { return run.now.round; }
};

/// The files of one agent.
class AgentFolder {
 public:
  /// Makes the folder and its config.toml, or finds them; with secret noise nobody but its owner
  /// may read it.
  AgentFolder(std::filesystem::path path, const Config& config, FileOwner owner);
  /// Error{usage} if it holds the run of another config, or other files than configs and logs.
  static void check(const std::filesystem::path& path, const Config& config);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path lock_file() const { return path_ / "checkpoint" / "lock"; }
  std::filesystem::path journal_file() const { return path_ / "checkpoint" / "releases"; }
  std::filesystem::path pairs_file() const { return path_ / "checkpoint" / "pairs"; }

  /// The newest one, or the one before where the newest is damaged. Error{io} if both are,
  /// Error{privacy} if it is of another run or agent, Error{usage} if it is of another version.
  std::optional<AgentCheckpoint> load_newest();
  /// On disk when this returns; the one before is kept.
  void save(Checkpoint run, const SentLog& sent);
  /// The round of the one before, which this agent may have to go back to, as of the last save.
  std::uint32_t oldest_round() const { return oldest_round_; }
  /// model.npz, whose x_mean and only row of X are the agent's own x; privacy.json; metrics.csv and
  /// summary.json, of what is not computed from raw data.
  void write_results(Trainer& trainer, const std::string& name) const;
  /// All neighbours have finished, too: nobody will ask this agent for anything again.
  void mark_finished() const;
  bool is_finished() const;

 private:
  std::filesystem::path checkpoint_file() const { return path_ / "checkpoint" / "checkpoint.npz"; }
  std::filesystem::path previous_file() const { return path_ / "checkpoint" / "previous.npz"; }
  std::filesystem::path spare_file() const { return path_ / "checkpoint" / "spare.npz"; }
  AgentCheckpoint load(const std::filesystem::path& file) const;
  std::filesystem::path finished_file() const { return path_ / "checkpoint" / "finished"; }

  std::filesystem::path path_;
  FileOwner owner_;
  bool keeps_newest_ = false;  // it is good, and becomes the one before
  std::uint32_t newest_round_ = 0, oldest_round_ = 0;
};

}  // namespace porter
