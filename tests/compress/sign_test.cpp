// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "compress_cases.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

Payload signs(float scale, int bits) {
  Payload body;
  put(body, scale);
  body.push_back(static_cast<std::byte>(bits));
  return with_checksum(body);
}

TEST(Sign, SendsTheMeanMagnitudeAndOneBitAnEntry) {
  const auto c = make_compressor("sign");
  const std::vector<float> x = {1, -2, 0, -5};
  EXPECT_EQ(encode(*c, x), signs(2.0F, 0b1010));
  EXPECT_EQ(compress(*c, x), (std::vector<float>{2, -2, 2, -2}));
  for (const std::size_t d : {1, 8, 9, 50890})
    EXPECT_EQ(encode(*c, gaussian_vector(d)).size(), 4 + (d + 7) / 8 + 4) << d;
}

TEST(Sign, LosesExactlyWhatTheFormulaSays) {
  // |C(x) - x|^2 = |x|^2 - |x|_1^2 / d, also where x has zeros.
  const auto c = make_compressor("sign");
  auto x = gaussian_vector(1000);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = 0;
  double sum = 0;
  for (const float value : x) sum += std::abs(double(value));
  // The scale is rounded to float, which costs its square: 1e-14.
  EXPECT_NEAR(squared_distance(compress(*c, x), x) / (squared_norm(x) - sum * sum / 1000), 1,
              1e-12);
}

TEST(Sign, KeepsItsPromiseWhereItIsTight) {
  // One entry alone is the worst case: rho = 1/d exactly.
  const auto c = make_compressor("sign");
  for (const std::size_t d : {1, 2, 7, 1000}) {
    std::vector<float> x(d, 0.0F);
    x[d / 2] = -3.3F;
    EXPECT_NEAR(squared_distance(compress(*c, x), x) / squared_norm(x), 1 - c->rho(d).value(),
                1e-12)
        << d;
  }
}

TEST(Sign, StaysInRangeForTheLargestFloats) {
  const std::vector<float> x = {std::numeric_limits<float>::max(),
                                -std::numeric_limits<float>::max()};
  EXPECT_EQ(compress(*make_compressor("sign"), x), x);
}

TEST(Sign, GivesZeroWhereTheScaleUnderflows) {
  std::vector<float> x(1000, 0.0F);
  x[7] = -std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(compress(*make_compressor("sign"), x), std::vector<float>(1000, 0.0F));
}

TEST(Sign, RefusesCodesThatNoEncoderWrites) {
  const auto c = make_compressor("sign");
  EXPECT_NO_THROW(decode(*c, signs(2.0F, 0b101), 3));
  EXPECT_THROW(decode(*c, signs(2.0F, 0b1101), 3), Error);  // padding
  EXPECT_THROW(decode(*c, signs(0.0F, 0b101), 3), Error);   // minus zero
  EXPECT_THROW(decode(*c, signs(-2.0F, 0), 3), Error);
  EXPECT_THROW(decode(*c, signs(-0.0F, 0), 3), Error);
  EXPECT_THROW(decode(*c, signs(std::numeric_limits<float>::infinity(), 0), 3), Error);
}

}  // namespace
}  // namespace porter
