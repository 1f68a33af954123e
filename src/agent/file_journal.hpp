// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/append_file.hpp"
#include "porter/algo/gradients.hpp"

namespace porter {

/// Whose files they are: a run, by its id, and one of its agents.
struct FileOwner {
  std::string run;  ///< 32 hexadecimal digits
  std::uint32_t agent = 0;

  bool operator==(const FileOwner&) const = default;
};
/// Error{privacy} names the file, what was expected and what was found.
void require_owner(const FileOwner& found, const FileOwner& expected, const std::string& source);

/// The whole records of a journal's bytes, by round, and where the last of them ends. What is cut
/// off behind it was never sent from. `doubtful`: what lies behind it is damaged and not just cut
/// off, so it may have been. Error{privacy} names `source` if anything else is wrong.
struct JournalView {
  FileOwner owner;
  std::map<std::uint32_t, std::vector<double>> rounds;
  std::size_t end = 0;
  bool doubtful = false;
};
JournalView decode_journal(std::span<const std::byte> bytes, const std::string& source);

/// What one agent has released since the older of its two checkpoints, in two files: PATH since the
/// newer one, PATH.previous before it. A record is on disk before record() returns, so what the
/// file does not hold has not left: a record that is cut off at the end was never sent from. It
/// holds noised gradients only, no secret.
class FileJournal final : public ReleaseJournal {
 public:
  /// Makes an empty one, or reads what was released after the checkpoint of round `after` in the
  /// one that is there; `older`: after the older of the checkpoints. Error{privacy} if it is
  /// another's, or damaged before its last record.
  FileJournal(std::filesystem::path path, FileOwner owner, std::uint32_t after = 0,
              bool older = false);

  bool recall(std::size_t agent, std::uint32_t round, std::span<double> g) override;
  void record(std::size_t agent, std::uint32_t round, std::span<const double> g) override;

  bool holds(std::uint32_t round) const { return known_.contains(round); }
  /// Whether the files held no release when they were opened.
  bool empty() const { return known_.empty(); }
  /// Whether a last record is there that cannot be read: a round that may have left.
  bool doubtful() const { return doubtful_; }
  /// Its round has been charged anew, and a checkpoint says so.
  void drop_doubtful();
  /// All up to this round are safe in a new checkpoint; those since the one before are kept, and so
  /// are later ones, which were released before a restart.
  void turn(std::uint32_t round);

 private:
  JournalView read(const std::filesystem::path& file, std::uint32_t after);
  void open();

  std::filesystem::path path_, previous_;
  FileOwner owner_;
  std::map<std::uint32_t, std::vector<double>> known_;  // what was read
  std::size_t end_ = 0;                                 // of what could be read
  bool doubtful_ = false;
  std::optional<AppendFile> file_;
};

}  // namespace porter
