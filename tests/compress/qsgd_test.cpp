// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "compress_cases.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr float kLargestFloat = std::numeric_limits<float>::max();
constexpr float kSubnormal = std::numeric_limits<float>::denorm_min();

double relative_error(const Compressor& c, std::span<const float> x, std::uint32_t draws) {
  double sum = 0;
  for (std::uint32_t round = 0; round < draws; ++round)
    sum += squared_distance(compress(c, x, round), x) / squared_norm(x);
  return sum / draws;
}

TEST(Qsgd, FollowsThePlainDefinition) {
  const auto x = gaussian_vector(500);
  for (const unsigned bits : {2, 3, 5, 8, 16}) {
    const double s = std::pow(2, bits - 1) - 1;
    double norm = std::sqrt(squared_norm(x));
    if (double(float(norm)) < norm) norm = std::nextafter(float(norm), kLargestFloat);
    norm = float(norm);
    auto rng = compress_stream(0);
    std::vector<float> expected;
    for (const double value : x) {
      const double level = std::floor(s * std::abs(value) / norm + rng.uniform());
      expected.push_back(static_cast<float>(std::copysign(norm * level / s, value)));
    }
    EXPECT_EQ(compress(*make_compressor("qsgd:" + std::to_string(bits)), x), expected) << bits;
  }
}

TEST(Qsgd, SendsANormAndTheBits) {
  for (const std::string name : {"qsgd:", "gsgd:"})
    for (const std::size_t bits : {2, 3, 4, 7, 16})
      for (const std::size_t d : {1, 7, 64, 1000})
        EXPECT_EQ(encode(*make_compressor(name + std::to_string(bits)), gaussian_vector(d)).size(),
                  4 + (d * bits + 7) / 8 + 4)
            << name << bits << ", " << d;
}

TEST(Qsgd, PacksSignAndLevel) {
  // The norm is 5 and s = 3: the levels 0 and 3 leave nothing to chance.
  const std::vector<float> x = {0, -5};
  Payload body;
  put(body, 5.0F);
  body.push_back(std::byte{0b00'111'000});  // level 0; sign 1, level 3; two bits unused
  EXPECT_EQ(encode(*make_compressor("qsgd:3"), x), with_checksum(body));
}

TEST(Qsgd, PromisesRhoOnlyWhereOmegaIsBelowOne) {
  const auto c = make_compressor("qsgd:5");  // s = 15
  EXPECT_DOUBLE_EQ(c->omega(100).value(), 100.0 / 225);
  EXPECT_DOUBLE_EQ(c->rho(100).value(), 1 - 100.0 / 225);
  EXPECT_DOUBLE_EQ(c->omega(400).value(), 20.0 / 15);
  EXPECT_FALSE(c->rho(400));
  EXPECT_FALSE(c->rho(225));  // omega = 1
}

TEST(Gsgd, ContractsWhereTheUnscaledQuantiserDoesNot) {
  const auto x = gaussian_vector(29034);
  const auto qsgd = make_compressor("qsgd:5"), gsgd = make_compressor("gsgd:5");
  const double omega = std::sqrt(29034.0) / 15;
  EXPECT_FALSE(qsgd->rho(29034));
  EXPECT_DOUBLE_EQ(gsgd->rho(29034).value(), 1 / (1 + omega));
  // About |x|_1 |x| / s - |x|^2 = (sqrt(2 d / pi) / s - 1) |x|^2 = 8.06 |x|^2, far from a
  // contraction.
  EXPECT_NEAR(relative_error(*qsgd, x, 10), std::sqrt(2 * 29034 / M_PI) / 15 - 1, 0.1);
  EXPECT_LT(relative_error(*gsgd, x, 10), 1 - gsgd->rho(29034).value());
}

TEST(Gsgd, IsQsgdDividedByOnePlusOmega) {
  const auto x = gaussian_vector(1000);
  const auto qsgd = make_compressor("qsgd:4"), gsgd = make_compressor("gsgd:4");
  EXPECT_EQ(encode(*qsgd, x), encode(*gsgd, x));
  const auto large = compress(*qsgd, x), small = compress(*gsgd, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(small[i] * (1 + qsgd->omega(1000).value()), large[i], 1e-6 * std::abs(large[i]));
}

TEST(Qsgd, KeepsLevelsWithinTheirBits) {
  // One entry carries all of the norm, so its ratio is s and any u must leave it there.
  for (const std::string spec : {"qsgd:2", "qsgd:16"})
    for (const float value : {1.0F, -kLargestFloat, kSubnormal, 0.1F, 1.17e-38F}) {
      const std::vector<float> x = {0, value, 0};
      for (std::uint32_t round = 0; round < 1000; ++round)
        ASSERT_EQ(compress(*make_compressor(spec), x, round), x) << spec << " " << value;
    }
}

TEST(Qsgd, WorksForHugeAndTinyNorms) {
  for (const float scale : {1e38F, 1e-38F, 1e-42F}) {
    const std::vector<float> x = {scale, -scale, scale};
    const auto y = compress(*make_compressor("qsgd:16"), x);
    // One level is sqrt(3) / 32767 of the scale; subnormals also round to a whole one.
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(y[i], x[i], 1e-4 * scale + kSubnormal) << scale;
    for (const std::string spec : {"qsgd:2", "gsgd:2", "gsgd:16"})
      for (const float value : compress(*make_compressor(spec), x))
        EXPECT_TRUE(std::isfinite(value)) << spec << " " << scale;
  }
}

TEST(Qsgd, RefusesANormBeyondTheRangeOfFloat) {
  try {
    encode(*make_compressor("qsgd:4"), std::vector<float>{kLargestFloat, kLargestFloat});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numeric);
  }
}

Payload quantised(float norm, int codes) {
  Payload body;
  put(body, norm);
  body.push_back(static_cast<std::byte>(codes));
  return with_checksum(body);
}

TEST(Qsgd, RefusesCodesThatNoEncoderWrites) {
  const auto c = make_compressor("qsgd:3");
  EXPECT_EQ(decode(*c, quantised(3.0F, 0b00'001'111), 2).values, (std::vector<float>{-3, 1}));
  EXPECT_THROW(decode(*c, quantised(3.0F, 0b01'001'111), 2), Error);  // padding
  EXPECT_THROW(decode(*c, quantised(3.0F, 0b00'001'100), 2), Error);  // minus zero
  EXPECT_THROW(decode(*c, quantised(0.0F, 0b00'001'000), 2), Error);  // a level of nothing
  EXPECT_NO_THROW(decode(*c, quantised(0.0F, 0), 2));
  for (const float norm : {-1.0F, -0.0F, std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()})
    EXPECT_THROW(decode(*c, quantised(norm, 0), 2), Error) << norm;
}

}  // namespace
}  // namespace porter
