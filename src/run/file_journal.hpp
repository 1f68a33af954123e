// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "porter/algo/gradients.hpp"

namespace porter {

/// The whole records of a journal's bytes, by round, and where the last of them ends; what is cut
/// off behind it was never sent from. Error{privacy} names `source` if an earlier one is damaged.
struct JournalView {
  std::map<std::uint32_t, std::vector<double>> rounds;
  std::size_t end = 0;
};
JournalView decode_journal(std::span<const std::byte> bytes, const std::string& source);

/// What one agent has released since its last checkpoint, in a file. A record is on disk before
/// record() returns, so what the file does not hold has not left: a record that is cut off at the
/// end was never sent from. It holds noised gradients only, no secret.
class FileJournal final : public ReleaseJournal {
 public:
  /// Makes an empty one, or reads the one that is there. Error{privacy} if it is damaged before its
  /// last record.
  explicit FileJournal(std::filesystem::path path);

  bool recall(std::size_t agent, std::uint32_t round, std::span<double> g) override;
  void record(std::size_t agent, std::uint32_t round, std::span<const double> g) override;

  bool holds(std::uint32_t round) const { return known_.contains(round); }
  /// Whether the file held no release when it was opened.
  bool empty() const { return known_.empty(); }
  /// All rounds so far are safe in a checkpoint.
  void clear();

 private:
  void open();

  std::filesystem::path path_;
  std::map<std::uint32_t, std::vector<double>> known_;  // what was read
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
};

}  // namespace porter
