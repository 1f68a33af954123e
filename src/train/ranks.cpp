// SPDX-License-Identifier: Apache-2.0
#include "porter/train/train.hpp"

#include <algorithm>
#include <chrono>

#include "io/file.hpp"
#include "porter/comm/mpi.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

// How often all ranks ask each other whether to stop, which costs about as much as a few rounds.
constexpr std::chrono::milliseconds kBetweenQuestions{500};

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
    const auto piece = is_root ? std::span(text).subspan(at, std::min(kPiece, size - at))
                               : std::span<const char>();
    const auto all = session.all_gather(std::as_bytes(piece));
    root.append(reinterpret_cast<const char*>(all[0].data()), all[0].size());
  }
  return root;
}

/// The files of a run whose rank 0 has the folder.
class Files {
 public:
  Files(Trainer& trainer, MpiSession& session, const std::filesystem::path& path,
        ExistingRun existing)
      : trainer_(trainer), session_(session) {
    if (is_root()) folder_.emplace(path, trainer, existing);
    const bool started = from_root(session, is_root() && folder_->started() ? "yes" : "") == "yes";
    if (existing == ExistingRun::resume) restore();
    if (!is_root()) ledgers_.open(path, trainer, started, trainer.releases());
    trainer.raise_releases(largest(session, ledgers_.charges()));
    trainer.raise_releases(largest(session, trainer.releases()));
    ledgers().catch_up(trainer);
  }

  RunFolder* folder() { return folder_ ? &*folder_ : nullptr; }
  Ledgers& ledgers() { return folder_ ? folder_->ledgers() : ledgers_; }

 private:
  bool is_root() const { return session_.rank() == 0; }

  // Rank 0 reads the checkpoint, and the others get its bytes.
  void restore() {
    const std::string source = "the checkpoint of rank 0";
    std::string bytes;
    if (is_root())
      if (const auto checkpoint = folder_->checkpoint_for(trainer_))
        bytes = encode_npz(to_npz(*checkpoint));
    bytes = from_root(session_, bytes);
    if (is_root())
      folder_->restore(trainer_);
    else if (!bytes.empty())
      trainer_.restore(to_checkpoint(decode_npz(bytes, source, ByteArrays::bytes), source), source);
  }

  Trainer& trainer_;
  MpiSession& session_;
  std::optional<RunFolder> folder_;  // in rank 0
  Ledgers ledgers_;                  // in the others
};

/// Whether any rank was asked to stop. All ranks call it in the same rounds and get the same
/// answer; in most rounds nobody is asked.
class StopQuestion {
 public:
  StopQuestion(const Trainer& trainer, MpiSession& session)
      : trainer_(trainer), session_(session), next_(trainer.round()) {}

  bool ask(bool stop) {
    const auto round = trainer_.round();
    if (round < next_) return false;
    const auto answer = largest(session_, (stop ? kStop : 0) + rounds_until_next(round));
    next_ = round + static_cast<std::uint32_t>(answer % kStop);
    return answer >= kStop;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kStop = std::uint64_t{1} << 32, kMax = 1000;

  // As many as this rank did in that time since the last question; the largest number counts.
  std::uint64_t rounds_until_next(std::uint32_t round) {
    const auto now = Clock::now();
    const std::chrono::duration<double> limit = kBetweenQuestions, spent = now - asked_;
    const auto rounds = (round - asked_in_) * limit.count() / std::max(spent.count(), 1e-6);
    asked_ = now;
    asked_in_ = round;
    return static_cast<std::uint64_t>(std::clamp(rounds, 1.0, double{kMax}));
  }

  const Trainer& trainer_;
  MpiSession& session_;
  std::uint32_t next_, asked_in_ = next_;
  Clock::time_point asked_ = Clock::now();
};

}  // namespace

TrainStatus train_on_ranks(Trainer& trainer, MpiSession& session,
                           const std::filesystem::path& folder, ExistingRun existing,
                           std::vector<Observer> observers) {
  Files files(trainer, session, folder, existing);
  StopQuestion question(trainer, session);
  // A stop that only one rank knows of would leave the others waiting for it.
  Observer together;
  for (auto& observer : observers)
    together.stop_requested = [before = together.stop_requested,
                               own = std::exchange(observer.stop_requested, [] { return false; })] {
      return before() || own();
    };
  together.stop_requested = [&question, any = together.stop_requested] {
    return question.ask(any());
  };
  observers.push_back(std::move(together));
  const auto status =
      train_with_files(trainer, files.folder(), files.ledgers(), std::move(observers));
  trainer.link()->transport->finish();
  return status;
}

}  // namespace porter
