// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/clip.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

long double exact_norm(const std::vector<double>& x) {
  long double sum = 0;
  for (const long double value : x) sum += value * value;
  return std::sqrt(sum);
}

TEST(Clip, NeverLongerThanTau) {
  std::uint32_t round = 0;
  for (const char* spec : {"smooth:1.0", "linear:1.0", "smooth:1e-3", "linear:250", "linear:0.1"})
    for (const std::size_t dim : {1, 3, 100, 50890})
      for (const double length : {1e-300, 1e-8, 0.5, 1.0, 1.0000000001, 3.0, 1e9, 1e150}) {
        SCOPED_TRACE(testing::Message() << spec << " dim " << dim << " length " << length);
        const Clip clip = parse_clip(spec);
        std::vector<double> x(dim);
        RngStream(1, Draw::test, 0, ++round).fill_normal(x);
        const auto norm = static_cast<double>(exact_norm(x));
        for (double& value : x) value *= length / norm;
        clip.apply(x);
        EXPECT_LE(exact_norm(x), clip.tau);
      }
}

TEST(Clip, SmoothAndLinearFollowTheirFormulas) {
  for (const double norm : {0.0, 0.2, 0.999, 1.5, 40.0}) {
    // The slack of 1e-10 in the norm shows up as at most that relative difference.
    EXPECT_NEAR(parse_clip("smooth:0.8").factor(norm), 0.8 / (0.8 + norm), 2e-10);
    EXPECT_NEAR(parse_clip("linear:0.8").factor(norm), std::min(1.0, 0.8 / norm), 2e-10);
    EXPECT_EQ(parse_clip("none").factor(norm), 1);
  }
}

TEST(Clip, NonFiniteVectorsContributeZero) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {inf, -inf, std::nan(""), 1e200})  // the square of 1e200 overflows
    for (const char* spec : {"smooth:1", "linear:1"}) {
      std::vector<double> x = {1, bad, 2};
      parse_clip(spec).apply(x);
      EXPECT_EQ(x, (std::vector<double>{0, 0, 0})) << spec << ' ' << bad;
    }
}

TEST(Clip, KeepsTheDirection) {
  std::vector<double> x = {3, -4, 0};
  parse_clip("linear:1").apply(x);
  EXPECT_NEAR(x[0], 0.6, 1e-9);
  EXPECT_NEAR(x[1], -0.8, 1e-9);
  EXPECT_EQ(x[2], 0);
}

TEST(Clip, RefusesWrongSpecs) {
  for (const char* spec : {"", "smooth", "smooth:", "smooth:0", "smooth:-1", "linear:x",
                           "linear:inf", "linear:nan", "hard:1", "smooth:1 "})
    EXPECT_THROW(parse_clip(spec), Error) << spec;
  EXPECT_EQ(to_string(parse_clip("smooth:1")), "smooth:1.0");
  EXPECT_EQ(to_string(parse_clip("none")), "none");
}

}  // namespace
}  // namespace porter
