// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace porter {

constexpr int kSlotBits = 11;
constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;

/// How one random word is read as a trial of the discrete Gaussian: from its low end the slot, the
/// first bits of the share, the first bits of U (the level), the offset; the sign is the top bit.
/// Share and level get what the offset leaves, at least 7 bits each.
class TrialWord {
 public:
  static constexpr int kMaxBits = 20;  ///< of share and level: more would seldom matter

  explicit TrialWord(int offset_bits)
      : offset_bits_(offset_bits),
        part_bits_(std::min(kMaxBits, (63 - kSlotBits - offset_bits) / 2)) {}

  int offset_bits() const { return offset_bits_; }
  int share_bits() const { return part_bits_; }
  int level_bits() const { return part_bits_; }
  int level_at() const { return kSlotBits + part_bits_; }
  int offset_at() const { return kSlotBits + 2 * part_bits_; }

  static std::uint64_t slot(std::uint64_t word) { return word % kSlots; }
  static bool negative(std::uint64_t word) { return word >> 63 != 0; }
  std::uint64_t share(std::uint64_t word) const { return low(word >> kSlotBits, part_bits_); }
  std::uint64_t level(std::uint64_t word) const { return low(word >> level_at(), part_bits_); }
  std::uint64_t offset(std::uint64_t word) const { return low(word >> offset_at(), offset_bits_); }

 private:
  static std::uint64_t low(std::uint64_t word, int bits) {
    return word & ((std::uint64_t{1} << bits) - 1);
  }
  int offset_bits_, part_bits_;
};

/// What most trials need. U < exp(-t) is compared in levels: with L = 2^level_bits, a trial is
/// taken for sure where  level + L t <= limit,  as then  U < (level + 1) / L < 1 - t <= exp(-t).
struct TrialTable {
  TrialWord word;
  const std::uint32_t* slots;  ///< the first bits of the own share, above the cell with the rest
  double slope;                ///< L / (2 s^2), so that  L t = offset slope (2 start + offset)
  double limit;                ///< L - 2, one level below 1 - t: no rounding reaches it
};

constexpr std::size_t kTrialMultiple = 8;  ///< the widest vector
constexpr std::size_t kTrialGroup = 256;   ///< trials at a time, at most

/// out[i] = the value of trial words[i], for i < count, a multiple of kTrialMultiple. Bit i % 64 of
/// open[i / 64] says that more than the word is needed: the share ties, the trial is not taken for
/// sure, or it is a minus zero. Every instruction set gives the same bits. Only words go in, so
/// all numbers are finite.
void draw_trials(const TrialTable& table, const std::uint64_t* words, std::size_t count,
                 double* out, std::uint64_t* open);

}  // namespace porter
