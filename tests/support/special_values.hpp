// SPDX-License-Identifier: Apache-2.0
// Vectors with one entry that is not an ordinary number, at every place of registers and tails.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "every_simd_target.hpp"
#include "porter/core/rng.hpp"

namespace porter {

/// Three registers of the widest instruction set, in floats, and one entry more.
inline constexpr std::size_t kMaxEntries = 3 * 16 + 1;

template <class Real>
inline const std::array<Real, 6> kSpecialValues = {
    std::numeric_limits<Real>::quiet_NaN(),  std::numeric_limits<Real>::infinity(),
    -std::numeric_limits<Real>::infinity(),  Real{-0.0},
    std::numeric_limits<Real>::denorm_min(), Real{1}};

template <class Real>
std::vector<Real> ordinary_values(std::size_t size, std::uint32_t number = 0) {
  std::vector<Real> x(size);
  RngStream rng(3, Draw::test, number, static_cast<std::uint32_t>(size));
  for (auto& value : x) value = static_cast<Real>(rng.uniform() - 0.5);
  return x;
}

/// test(x) for every instruction set, size from 0 to kMaxEntries, special value and its place.
template <class Real, class Test>
void for_every_special_value(const Test& test) {
  for_every_simd_target([&](const std::string&) {
    for (std::size_t size = 0; size <= kMaxEntries; ++size) {
      auto x = ordinary_values<Real>(size);
      if (size == 0) test(x);
      for (std::size_t at = 0; at < size; ++at)
        for (const Real special : kSpecialValues<Real>) {
          SCOPED_TRACE(testing::Message() << special << " at " << at << " of " << size);
          const Real ordinary = std::exchange(x[at], special);
          test(x);
          x[at] = ordinary;
          if (testing::Test::HasFatalFailure()) return;
        }
    }
  });
}

/// The same bits, but that one NaN is as good as another.
template <class Real>
bool same_number(Real a, Real b) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) || (std::isnan(a) && std::isnan(b));
}

template <class Real>
void expect_same(std::span<const Real> found, std::span<const Real> expected, const char* what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_TRUE(same_number(found[i], expected[i]))
        << what << ": " << found[i] << " at " << i << ", expected " << expected[i];
}

template <class Real>
void expect_same(const std::vector<Real>& found, const std::vector<Real>& expected,
                 const char* what) {
  expect_same(std::span<const Real>(found), std::span<const Real>(expected), what);
}

template <class Real>
void expect_same(Real found, Real expected, const char* what) {
  ASSERT_TRUE(same_number(found, expected)) << what << ": " << found << ", expected " << expected;
}

}  // namespace porter
