// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "compress_cases.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr float kMaxFloat = std::numeric_limits<float>::max();
constexpr float kSmallestNormal = std::numeric_limits<float>::min();  // 2^-126

TEST(Natural, KeepsPowersOfTwo) {
  const auto c = make_compressor("natural");
  std::vector<float> x;
  for (int e = -126; e <= 127; ++e) {
    x.push_back(std::ldexp(1.0F, e));
    x.push_back(-std::ldexp(1.0F, e));
  }
  EXPECT_EQ(compress(*c, x), x);
}

TEST(Natural, FollowsThePlainDefinition) {
  const auto c = make_compressor("natural");
  for (const double scale : {1.0, 1e-30, 1e30}) {
    const auto x = gaussian_vector(1000, scale);
    auto rng = compress_stream(0);
    std::vector<float> expected;
    for (const float value : x) {
      const double below = std::exp2(std::floor(std::log2(std::abs(double(value)))));
      const double up = rng.uniform() < std::abs(double(value)) / below - 1 ? 2 : 1;
      expected.push_back(static_cast<float>(std::copysign(below * up, value)));
    }
    EXPECT_EQ(compress(*c, x), expected) << scale;
  }
}

TEST(Natural, RoundsUpAsOftenAsTheMantissaSays) {
  // 4000 entries of 2^e (1 + m) each: within five standard deviations of 4000 m.
  const auto c = make_compressor("natural");
  for (const double m : {0.1, 1.0 / 3, 0.5, 0.9}) {
    const std::vector<float> x(4000, static_cast<float>(-8 * (1 + m)));
    int up = 0;
    for (const float value : compress(*c, x)) {
      EXPECT_TRUE(value == -8 || value == -16) << value;
      if (value == -16) ++up;
    }
    EXPECT_NEAR(up, 4000 * m, 5 * std::sqrt(4000 * m * (1 - m))) << m;
  }
}

TEST(Natural, DropsSubnormalsAndRefusesWhatCouldOverflow) {
  const auto c = make_compressor("natural");
  const float below = std::nextafter(kSmallestNormal, 0.0F);
  EXPECT_EQ(compress(*c, std::vector<float>{below, -below, kSmallestNormal}),
            (std::vector<float>{0, 0, kSmallestNormal}));
  for (const float value : {std::nextafter(0x1p127F, kMaxFloat), -kMaxFloat}) try {
      encode(*c, std::vector<float>{0, value});
      ADD_FAILURE() << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::numeric);
    }
  // Just below 2^127 the next power of two is still a float.
  for (const float value : compress(*c, std::vector<float>(100, std::nextafter(0x1p127F, 0.0F))))
    EXPECT_TRUE(value == 0x1p126F || value == 0x1p127F) << value;
}

TEST(Natural, TakesNineBitsAnEntry) {
  const auto c = make_compressor("natural");
  for (const std::size_t d : {1, 7, 8, 1000})
    EXPECT_EQ(encode(*c, gaussian_vector(d)).size(), (9 * d + 7) / 8 + 4) << d;
  // 1.0 has the exponent field 127; -2.0 has 128 and the sign above it.
  EXPECT_EQ(encode(*c, std::vector<float>{1.0F, -2.0F}),
            with_checksum(bytes({127, (128 << 1) & 0xFF, 0b11})));
}

TEST(Natural, RefusesCodesThatNoEncoderWrites) {
  const auto c = make_compressor("natural");
  EXPECT_EQ(decode(*c, with_checksum(bytes({254, 1})), 1).values, (std::vector<float>{-0x1p127F}));
  EXPECT_THROW(decode(*c, with_checksum(bytes({255, 0})), 1), Error);  // infinity
  EXPECT_THROW(decode(*c, with_checksum(bytes({0, 1})), 1), Error);    // minus zero
  EXPECT_THROW(decode(*c, with_checksum(bytes({127, 2})), 1), Error);  // padding
}

}  // namespace
}  // namespace porter
