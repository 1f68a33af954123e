// SPDX-License-Identifier: Apache-2.0
#include "core/find_unequal.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "core/vectors.hpp"

namespace porter {
namespace {

constexpr std::size_t kGroup = 8;  // entries whose flags are one byte
// Rows mostly follow one another in memory; what is a page ahead the processor does not fetch by
// itself. Nothing is read there.
constexpr std::size_t kAhead = 1024;

// For each byte of flags, the numbers of those that are set, ascending; what comes behind is
// overwritten by the next group.
constexpr auto kPlaces = [] {
  std::array<std::array<std::uint32_t, kGroup>, 256> places{};
  for (unsigned flags = 0; flags < 256; ++flags)
    for (std::uint32_t k = 0, count = 0; k < kGroup; ++k)
      if ((flags >> k & 1) != 0) places[flags][count++] = k;
  return places;
}();

// Bit k is set where group[k] != background. In halves, which every instruction set has registers
// for.
PORTER_INLINE inline unsigned unequal_flags(const float* group, float background) {
  using Half = Register<float, kGroup / 2>;
  using Flags = Register<std::int32_t, kGroup / 2>;
  Half low, high;
  std::memcpy(&low, group, sizeof low);
  std::memcpy(&high, group + kGroup / 2, sizeof high);
  const Flags flags =
      ((low != background) & Flags{1, 2, 4, 8}) | ((high != background) & Flags{16, 32, 64, 128});
  std::uint64_t words[2];
  std::memcpy(words, &flags, sizeof words);
  const std::uint64_t both = words[0] | words[1];
  return static_cast<unsigned>(both | both >> 32) & 0xFF;
}

}  // namespace

std::size_t find_unequal(std::span<const float> row, float background, std::uint32_t* columns) {
  return with_vectors([=]<Width>() PORTER_INLINE {
    std::size_t count = 0, j = 0;
    for (; j + kGroup <= row.size(); j += kGroup) {
      __builtin_prefetch(row.data() + j + kAhead);
      const unsigned flags = unequal_flags(row.data() + j, background);
      Register<std::uint32_t, kGroup> places;
      std::memcpy(&places, kPlaces[flags].data(), sizeof places);
      places += static_cast<std::uint32_t>(j);
      std::memcpy(columns + count, &places, sizeof places);
      count += static_cast<std::size_t>(std::popcount(flags));
    }
    // Always written, and kept or not: no branch that is hard to predict.
    for (; j < row.size(); ++j) {
      columns[count] = static_cast<std::uint32_t>(j);
      count += row[j] != background ? 1 : 0;
    }
    return count;
  });
}

}  // namespace porter
