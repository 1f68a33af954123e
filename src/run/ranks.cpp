// SPDX-License-Identifier: Apache-2.0
#include "porter/run/ranks.hpp"

#include <algorithm>
#include <chrono>

#include "porter/core/error.hpp"
#include "porter/io/file.hpp"

namespace porter {
namespace {

// How often all ranks ask each other whether to stop, which costs about as much as a few rounds.
constexpr std::chrono::milliseconds kBetweenQuestions{500};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::uint64_t largest(MpiSession& session, std::uint64_t value) {
  std::uint64_t most = 0;
  for (const auto& bytes : session.all_gather(std::as_bytes(std::span(&value, 1))))
    most = std::max(most, ByteReader(bytes).get<std::uint64_t>());
  return most;
}

// What rank 0 says. It may be a checkpoint of several GB, which MPI moves in pieces.
std::string from_root(MpiSession& session, const std::string& text) {
  constexpr std::size_t kPiece = std::size_t{1} << 28;
  const bool is_root = session.rank() == 0;
  const auto size = largest(session, is_root ? text.size() : 0);
  std::string root;
  root.reserve(size);
  for (std::size_t at = 0; at < size; at += kPiece) {
    const auto piece = is_root ? bytes_of(text).subspan(at, std::min(kPiece, size - at))
                               : std::span<const std::byte>();
    const auto all = session.all_gather(piece);
    root.append(reinterpret_cast<const char*>(all[0].data()), all[0].size());
  }
  return root;
}

/// The files of a run whose rank 0 has the folder.
class Files {
 public:
  Files(Experiment& experiment, MpiSession& session, const std::filesystem::path& path,
        ExistingRun existing)
      : experiment_(experiment), session_(session) {
    if (is_root()) folder_.emplace(path, experiment, existing);
    const bool resume = existing == ExistingRun::resume;
    const bool started = from_root(session, is_root() && folder_->started() ? "yes" : "") == "yes";
    if (resume) restore();
    if (!is_root()) ledgers_.open(path, experiment, started, experiment.releases());
    experiment.raise_releases(largest(session, ledgers_.charges()));
    experiment.raise_releases(largest(session, experiment.releases()));
    if (is_root())
      folder_->catch_up(experiment);
    else
      ledgers_.catch_up(experiment);
  }

  void charge(std::uint32_t round) {
    if (is_root())
      folder_->charge(experiment_, round);
    else
      ledgers_.charge(experiment_, round);
  }
  void append(const MetricsRow& row) {
    if (is_root()) folder_->append(row);
  }
  void write_checkpoint() {
    if (is_root())
      folder_->write_checkpoint(experiment_);
    else
      experiment_.snapshot();  // gives its rows to rank 0
  }
  void finish(TrainStatus status) {
    if (is_root()) folder_->finish(experiment_, status);
  }

 private:
  bool is_root() const { return session_.rank() == 0; }

  // Rank 0 reads the checkpoint, and the others get its bytes.
  void restore() {
    std::string bytes;
    if (is_root() && folder_->has_checkpoint()) bytes = read_raw_file(folder_->checkpoint_file());
    bytes = from_root(session_, bytes);
    if (is_root())
      folder_->restore(experiment_);
    else if (!bytes.empty())
      experiment_.restore(decode_npz(bytes, "the checkpoint of rank 0"),
                          "the checkpoint of rank 0");
  }

  Experiment& experiment_;
  MpiSession& session_;
  std::optional<RunFolder> folder_;  // in rank 0
  Ledgers ledgers_;                  // in the others
};

/// Whether any rank was asked to stop. All ranks call it in the same rounds and get the same
/// answer; in most rounds nobody is asked.
class StopQuestion {
 public:
  StopQuestion(const Experiment& experiment, MpiSession& session)
      : experiment_(experiment), session_(session), next_(experiment.round()) {}

  bool ask(bool stop) {
    const auto round = experiment_.round();
    if (round < next_) return false;
    const auto answer = largest(session_, (stop ? kStop : 0) + rounds_until_next(round));
    next_ = round + static_cast<std::uint32_t>(answer % kStop);
    return answer >= kStop;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kStop = std::uint64_t{1} << 32, kMost = 1000;

  // As many as this rank did in that time since the last question; the largest number counts.
  std::uint64_t rounds_until_next(std::uint32_t round) {
    const auto now = Clock::now();
    const std::chrono::duration<double> limit = kBetweenQuestions, spent = now - asked_;
    const auto rounds = (round - asked_in_) * limit.count() / std::max(spent.count(), 1e-6);
    asked_ = now;
    asked_in_ = round;
    return static_cast<std::uint64_t>(std::clamp(rounds, 1.0, double{kMost}));
  }

  const Experiment& experiment_;
  MpiSession& session_;
  std::uint32_t next_, asked_in_ = next_;
  Clock::time_point asked_ = Clock::now();
};

}  // namespace

TrainStatus train_on_ranks(Experiment& experiment, MpiSession& session,
                           const std::filesystem::path& folder, ExistingRun existing,
                           const TrainHooks& hooks) {
  Files files(experiment, session, folder, existing);
  const auto period = experiment.config().run.checkpoint_every;
  TrainHooks inner = hooks;
  inner.before_round = [&](std::uint32_t round) {
    files.charge(round);
    hooks.before_round(round);
  };
  inner.after_evaluation = [&](const MetricsRow& row) {
    files.append(row);
    hooks.after_evaluation(row);
  };
  inner.after_round = [&](const Experiment& now) {
    if (period > 0 && now.round() % period == 0 && !now.finished()) files.write_checkpoint();
    hooks.after_round(now);
  };
  StopQuestion question(experiment, session);
  inner.stop_requested = [&] { return question.ask(hooks.stop_requested()); };
  if (wants_first_checkpoint(experiment)) files.write_checkpoint();
  const auto status = train(experiment, inner);
  if (wants_checkpoint(experiment, status)) files.write_checkpoint();
  files.finish(status);
  experiment.transport()->finish();
  return status;
}

}  // namespace porter
