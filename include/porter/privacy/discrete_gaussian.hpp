// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "porter/privacy/secret_stream.hpp"

namespace porter {

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
  void fill(NoiseStream& noise, std::span<std::int64_t> out) const;

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
  bool accept_exactly(std::uint64_t cell, std::uint64_t offset, std::uint64_t level,
                      NoiseStream& noise) const;

  double s_;
  int offset_bits_;  // a cell is 2^offset_bits_ integers
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> squeeze_;  // below this 24-bit level every offset of the cell is taken
};

}  // namespace porter
