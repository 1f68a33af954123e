// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/append_file.hpp"
#include "porter/train/train.hpp"
#include "train/ledgers.hpp"

namespace porter {

/// The schema of the run in its folder, complete.
inline constexpr const char* kSchemaFile = "schema.toml";

/// The files of one run: config.toml, metrics.csv, summary.json, privacy.json, graph.svg,
/// model.npz, checkpoint/.
class RunFolder {
 public:
  /// Creates the folder and its config, or prepares to resume. Error{usage} if the folder holds a
  /// run (refuse), or another config (resume); replace removes the files of an earlier run, and no
  /// others. To resume may also mean to extend: see is_extension.
  RunFolder(std::filesystem::path path, const Trainer& trainer, ExistingRun existing);

  /// Continues from the checkpoint and drops the metrics that came after it, the statement and the
  /// summary. Only after ExistingRun::resume. Error{usage} if a run that has begun has no
  /// checkpoint, or one that is extended not its last.
  void restore(Trainer& trainer);

  /// A line of metrics.csv, on disk when this returns.
  void append(const MetricsRow& row);
  void write_checkpoint(Trainer& trainer);
  /// summary.json always; model.npz and privacy.json unless the run diverged.
  void finish(const Trainer& trainer, TrainStatus status);

  const std::filesystem::path& path() const { return path_; }
  /// What is restored: the checkpoint as one of the trainer's run. Nothing where there is none.
  std::optional<Checkpoint> checkpoint_for(const Trainer& trainer) const;
  Ledgers& ledgers() { return ledgers_; }
  bool has_checkpoint() const;
  /// Whether anything may have been released: there is a row of metrics.
  bool started() const;
  std::filesystem::path checkpoint_file() const { return path_ / "checkpoint" / "checkpoint.npz"; }
  /// Error{usage} unless the folder may be used that way, as far as can be told without the run;
  /// Error{privacy} where what is to be replaced holds ledgers.
  static void check_free(const std::filesystem::path& path, ExistingRun existing);
  /// Error{usage} naming the keys unless the folder holds a run of this config, or one that this
  /// config extends; what does not change results, like the number of threads, may differ. True if
  /// it extends it: it has more rounds and nothing else is new, but that the size of the noise,
  /// which was calibrated, may be stated.
  static bool is_extension(const std::filesystem::path& path, const Config& config);
  /// Steps that are "auto" as they were worked out for the run in the folder, if one is there: more
  /// rounds would give others.
  static Config with_known_steps(const std::filesystem::path& path, Config config);
  /// The status in summary.json, if there is one.
  static std::optional<TrainStatus> recorded_status(const std::filesystem::path& path);

 private:
  void open_metrics(std::optional<std::uint32_t> last_round);
  void begin_extension(const Trainer& trainer, const Checkpoint& checkpoint);

  std::filesystem::path path_;
  std::optional<Config> extended_;  // what the folder holds, where the trainer's run extends it
  std::optional<AppendFile> metrics_;
  Ledgers ledgers_;
};

/// Trains with these files: charges, metrics, checkpoints before the first round, periodically and
/// at the end where they are wanted, final files. They come before the other observers. Of several
/// processes only one has a folder; for the others it is null.
TrainStatus train_with_files(Trainer& trainer, RunFolder* folder, Ledgers& ledgers,
                             std::vector<Observer> observers);
TrainStatus train_in_folder(Trainer& trainer, RunFolder& folder,
                            std::vector<Observer> observers = {});

/// Steps that are "auto" become these.
void set_auto_steps(Config& config, double step, double consensus);

/// The text of summary.json. Numbers that are not finite become null.
std::string summary_json(const Trainer& trainer, const std::string& name, TrainStatus status);

/// The text of privacy.json: what is, and is not, guaranteed, for machines.
std::string privacy_json(const Trainer& trainer);

}  // namespace porter
