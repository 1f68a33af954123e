// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "core/find_unequal.hpp"
#include "core/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "find_unequal.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace porter::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

std::size_t compress_unequal(const float* row, std::size_t size, float background,
                             std::uint32_t* columns) {
  const hn::CappedTag<float, kUnequalSlack> floats;
  const hn::RebindToUnsigned<decltype(floats)> words;
  const std::size_t lanes = hn::Lanes(floats);
  const auto ground = hn::Set(floats, background);
  std::size_t at = 0, j = 0;
  // In registers and then to memory: some processors compress to memory very slowly.
  for (; j + lanes <= size; j += lanes) {
    // Not(Eq), as Ne says no where one side is NaN.
    const auto other = hn::RebindMask(words, hn::Not(hn::Eq(hn::LoadU(floats, row + j), ground)));
    const auto numbers = hn::Iota(words, static_cast<std::uint32_t>(j));
    hn::StoreU(hn::Compress(numbers, other), words, columns + at);
    at += hn::CountTrue(words, other);
  }
  for (; j < size; ++j)
    if (row[j] != background) columns[at++] = static_cast<std::uint32_t>(j);
  return at;
}

}  // namespace porter::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace porter {

HWY_EXPORT(compress_unequal);

std::size_t find_unequal(std::span<const float> row, float background, std::uint32_t* columns) {
  choose_simd();
  return HWY_DYNAMIC_DISPATCH(compress_unequal)(row.data(), row.size(), background, columns);
}

}  // namespace porter
#endif
