// SPDX-License-Identifier: Apache-2.0
#include "privacy/fft.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

TEST(RealFft, KeepsItsErrorBoundAgainstTheSum) {
  for (const std::size_t length : {4, 12, 60, 256, 1000}) {
    std::vector<double> values(length);
    RngStream rng(1, Draw::test, 0, static_cast<std::uint32_t>(length));
    double norm = 0;
    for (double& value : values) norm += value = rng.uniform();
    const RealFft fft(length);
    const auto spectrum = fft.forward(values);
    ASSERT_EQ(spectrum.size(), length / 2 + 1);
    for (std::size_t f = 0; f < spectrum.size(); ++f) {
      std::complex<long double> exact = 0;
      for (std::size_t j = 0; j < length; ++j)
        exact += std::polar<long double>(values[j], -2 * std::numbers::pi_v<long double> *
                                                        static_cast<long double>(f * j % length) /
                                                        length);
      EXPECT_LE(std::abs(std::complex<long double>(spectrum[f]) - exact),
                fft.relative_error() * norm)
          << length << ' ' << f;
    }
    const auto back = fft.inverse(spectrum);
    for (std::size_t j = 0; j < length; ++j)
      EXPECT_NEAR(back[j], values[j], 2 * fft.relative_error() * norm) << length << ' ' << j;
  }
}

TEST(RealFft, PicksSmoothLengths) {
  for (const std::size_t wanted : {1, 4, 97, 1000, 12345, 1 << 20}) {
    std::size_t length = RealFft::good_length(wanted);
    EXPECT_GE(length, wanted);
    EXPECT_LE(length, std::max<std::size_t>(4, wanted + wanted / 4)) << "a smooth length is near";
    EXPECT_EQ(length % 4, 0U);
    for (const std::size_t prime : {2, 3, 5})
      while (length % prime == 0) length /= prime;
    EXPECT_EQ(length, 1U) << wanted;
  }
}

}  // namespace
}  // namespace porter
