// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "porter/core/bytes.hpp"

namespace porter {

/// Whose budget a ledger guards, and what one charge stands for.
struct LedgerHeader {
  std::string run_id;  ///< 1 to 64 bytes
  std::uint32_t agent = 0;
  std::string sampler;        ///< as in the config: "fixed", "poisson"; up to 16 bytes
  std::string adjacency;      ///< "replace", "add-remove"; up to 16 bytes
  std::uint64_t records = 0;  ///< m, the agent's local samples
  std::uint64_t batch = 0;    ///< b
  double noise_stddev = 0;
  double clip = 0;  ///< tau
  double delta = 0;
  double epsilon = 0;  ///< the budget

  bool operator==(const LedgerHeader&) const = default;
};

/// Charges in a row with the same parameters: one phase of a composition.
struct LedgerPhase {
  double noise_stddev = 0;
  std::uint64_t batch = 0;
  std::uint64_t charges = 0;

  bool operator==(const LedgerPhase&) const = default;
};

/// What a ledger says.
struct LedgerView {
  LedgerHeader header;
  std::uint64_t charges = 0;  ///< everything that counts against the budget, torn charges too
  std::uint64_t torn = 0;     ///< of these, the charges whose writing was interrupted
  bool torn_tail = false;     ///< the last of them is not repaired yet
  std::vector<LedgerPhase> phases;
  std::uint32_t last_round = 0;  ///< of the last whole charge
  std::uint32_t last_crc = 0;    ///< what the next record chains to
};

/// Reads the bytes of a ledger. A record that is cut off or damaged at the very end is one that was
/// being written: it counts. Any other damage is Error{privacy} with `name` and the offset.
LedgerView decode_ledger(std::span<const std::byte> bytes, const std::string& name);

/// Reads and verifies a ledger without locking or repairing it.
LedgerView read_ledger(const std::filesystem::path& path);

/// The append-only record of what an agent has released: charge, then send. The number of charges
/// never goes down: it survives a crash at any moment, and a checkpoint restored beside it does not
/// touch it. Holds an exclusive lock for its lifetime; a forked child cannot charge.
class Ledger {
 public:
  /// A new file; Error{privacy} where one is there already.
  static Ledger create(const std::filesystem::path& path, const LedgerHeader& header);
  /// The ledger of the same run; Error{privacy} where it is missing, damaged, of another header, in
  /// use by another process, or holds fewer than `at_least` charges (what a checkpoint had seen:
  /// the ledger was rolled back). A torn charge is completed, and counts.
  static Ledger resume(const std::filesystem::path& path, const LedgerHeader& header,
                       std::uint64_t at_least = 0);
  ~Ledger();
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;

  /// Appends one charge, waits until it is on disk, and returns the number of charges so far. After
  /// an Error{privacy} nothing may be sent, and this object refuses every further charge.
  std::uint64_t charge(std::uint32_t round);
  /// The same for a round with parameters of its own.
  std::uint64_t charge(std::uint32_t round, double noise_stddev, std::uint64_t batch);

  const LedgerView& view() const;

 private:
  struct State;
  explicit Ledger(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace porter
