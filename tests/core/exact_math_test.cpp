// SPDX-License-Identifier: Apache-2.0
#include "core/exact_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

// In units in the last place of `exact`.
double error_in_units(double found, long double exact) {
  const double near = std::abs(static_cast<double>(exact));
  const double unit = std::nextafter(near, INFINITY) - near;
  return static_cast<double>(std::abs(static_cast<long double>(found) - exact)) / unit;
}

TEST(ExactLog, IsWithinTwoUnitsInTheLastPlace) {
  RngStream rng(1, Draw::test, 0, 0);
  for (int i = 0; i < 100'000; ++i) {
    const int exponent = static_cast<int>(rng.below(2000)) - 1000;
    for (const double x : {std::ldexp(1 + rng.uniform(), exponent), rng.uniform() + 0x1p-54,
                           1 + 1e-3 * (rng.uniform() - 0.5)})
      ASSERT_LE(error_in_units(exact_log(x), std::log(static_cast<long double>(x))), 2) << x;
  }
  EXPECT_EQ(exact_log(1), 0);
  for (const double x :
       {std::numeric_limits<double>::min(), std::numeric_limits<double>::max(), 0x1p-53})
    EXPECT_LE(error_in_units(exact_log(x), std::log(static_cast<long double>(x))), 2) << x;
}

// The smaller of the two loses what 2 pi was rounded by, so its last place is what counts.
TEST(SinCosTurn, IsWithinThreeUnitsInTheLastPlace) {
  RngStream rng(2, Draw::test, 0, 0);
  const long double pi = std::acos(-1.0L);
  for (int i = 0; i < 100'000; ++i)
    for (const double u : {rng.uniform(), rng.uniform() / 8, 1 / (2.0 + i), 1 / (4.0 + 4 * i)}) {
      // To the nearest quarter turn, exactly: a long double pi times u would be off by more.
      const auto quarter = std::nearbyint(4 * u);
      const long double rest = 2 * pi * (u - quarter / 4);
      const long double s = std::sin(rest), c = std::cos(rest);
      const int turned = static_cast<int>(quarter) % 4;
      const auto [sin, cos] = sincos_turn(u);
      ASSERT_LE(error_in_units(sin, turned == 0   ? s
                                    : turned == 1 ? c
                                    : turned == 2 ? -s
                                                  : -c),
                3)
          << u;
      ASSERT_LE(error_in_units(cos, turned == 0   ? c
                                    : turned == 1 ? -s
                                    : turned == 2 ? -c
                                                  : s),
                3)
          << u;
    }
}

TEST(SinCosTurn, IsExactAtQuarterTurnsAndOddAroundZero) {
  const double at[][3] = {{0, 0, 1}, {0.25, 1, 0}, {0.5, 0, -1}, {0.75, -1, 0}};
  for (const auto& [u, sin, cos] : at) {
    EXPECT_EQ(sincos_turn(u).sin, sin) << u;
    EXPECT_EQ(sincos_turn(u).cos, cos) << u;
  }
  for (const double u : {1e-300, 0x1p-53, 0.01, 0.1}) {
    EXPECT_EQ(sincos_turn(-u).sin, -sincos_turn(u).sin) << u;
    EXPECT_EQ(sincos_turn(-u).cos, sincos_turn(u).cos) << u;
  }
}

}  // namespace
}  // namespace porter
