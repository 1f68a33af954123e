// SPDX-License-Identifier: Apache-2.0
#include "noise_trials.hpp"

#include <bit>

#include "core/vectors.hpp"

namespace porter {
namespace {

constexpr std::uint64_t kMinusZero = std::uint64_t{1} << 63;
constexpr std::uint64_t kSlotMask = kSlots - 1;

// An integer below 2^52, put into the mantissa of 2^52: the double 2^52 + integer.
PORTER_INLINE inline double raised(std::uint64_t integer) {
  return std::bit_cast<double>(integer | std::bit_cast<std::uint64_t>(0x1p52));
}

// At most 64 trials; returns the open ones.
PORTER_INLINE inline std::uint64_t draw_part(const TrialTable& table, const std::uint64_t* words,
                                             const std::uint32_t* entries, std::size_t count,
                                             double* __restrict out) {
  const TrialWord layout = table.word;
  const int offset_at = layout.offset_at(), level_at = layout.level_at();
  const std::uint64_t offset_mask = (std::uint64_t{1} << layout.offset_bits()) - 1;
  const std::uint64_t level_mask = (std::uint64_t{1} << layout.level_bits()) - 1;
  const std::uint64_t low_mask = (std::uint64_t{1} << level_at) - 1;
  const double width = static_cast<double>(offset_mask + 1);
  const double slope = table.slope, raised_limit = 0x1p52 + table.limit;
  std::uint64_t open = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t word = words[i], entry = entries[i], low = word & low_mask;
    const bool own = static_cast<std::int64_t>(low) < static_cast<std::int64_t>(entry);
    const std::uint64_t tied = ((low ^ entry) & ~kSlotMask) == 0 ? 1 : 0;
    const double start = (raised((own ? word : entry) & kSlotMask) - 0x1p52) * width;
    const double offset = raised((word >> offset_at) & offset_mask) - 0x1p52;
    const double size = start + offset;
    const double excess = (offset * slope) * (start + size);
    const std::uint64_t value = std::bit_cast<std::uint64_t>(size) | (word & kMinusZero);
    out[i] = std::bit_cast<double>(value);
    const double room = raised_limit - raised((word >> level_at) & level_mask);  // exactly
    const std::uint64_t unsure = excess > room ? 1 : 0, zero = value == kMinusZero ? 1 : 0;
    open |= (tied | unsure | zero) << i;
  }
  return open;
}

}  // namespace

void draw_trials(const TrialTable& table, const std::uint64_t* words, std::size_t count,
                 double* out, std::uint64_t* open) {
  std::uint32_t entries[kTrialGroup];
  for (std::size_t i = 0; i < count; ++i) entries[i] = table.slots[words[i] % kSlots];
  with_vectors([&, in = &entries[0]]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < count; i += 64)
      open[i / 64] =
          draw_part(table, words + i, in + i, std::min<std::size_t>(64, count - i), out + i);
  });
}

}  // namespace porter
