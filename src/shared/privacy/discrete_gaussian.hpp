// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "privacy/secret_stream.hpp"

namespace porter {

struct TrialTable;

/// The discrete Gaussian on the integers, P(x) proportional to exp(-x^2 / (2 s^2)) (Canonne,
/// Kamath, Steinke: The Discrete Gaussian for Differential Privacy; NeurIPS 2020), cut at 13 s.
/// Immutable: one object serves all agents and threads.
class DiscreteGaussian {
 public:
  static constexpr double kSmallest = 0x1p-4, kLargest = 0x1p44;  ///< of s
  static constexpr double kCut = 13;                              ///< where the tail ends, in s

  /// Error{usage} unless kSmallest <= s <= kLargest.
  explicit DiscreteGaussian(double s);

  double parameter() const { return s_; }
  std::int64_t draw(NoiseStream& noise) const;
  /// Many values, each a whole number below 2^53 and never minus zero. Every processor makes the
  /// same ones of the same words.
  void fill(NoiseStream& noise, std::span<double> out) const;

  /// No event differs in probability from the ideal law by more than this per value, given ideal
  /// random words. The sum stands in the .cpp.
  static constexpr double statistical_distance() { return 0x1p-96; }

 private:
  friend struct DiscreteGaussianPeer;  // the tests add up the table
  struct Slot {
    std::uint64_t own_high, own_low;  // the share of the slot's own cell, 54 and 56 bits
    std::uint32_t other;              // the cell that has the rest
  };

  void build_slots(std::size_t cells);
  TrialTable table() const;
  std::optional<std::int64_t> finish(std::uint64_t word, NoiseStream& noise) const;
  std::uint64_t choose_cell(std::uint64_t word, NoiseStream& noise) const;
  bool accept(std::uint64_t cell, std::uint64_t offset, std::uint64_t level,
              NoiseStream& noise) const;
  bool accept_exactly(std::uint64_t cell, std::uint64_t offset, std::uint64_t level,
                      NoiseStream& noise) const;
  void fill_group(NoiseStream& noise, std::span<double> out) const;

  double s_;
  int offset_bits_;        // a cell is 2^offset_bits_ integers
  double levels_, slope_;  // L, and L / (2 s^2)
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> short_slots_;  // what most trials need of them
};

}  // namespace porter
