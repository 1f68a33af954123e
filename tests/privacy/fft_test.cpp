// SPDX-License-Identifier: Apache-2.0
#include "privacy/fft.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

using Real = long double;

// The transform by its definition, at one frequency.
std::complex<Real> direct(const std::vector<double>& values, std::size_t f) {
  static std::vector<std::complex<Real>> circle;
  const std::size_t length = values.size();
  if (circle.size() != length) {
    circle.resize(length);
    for (std::size_t j = 0; j < length; ++j)
      circle[j] = std::polar<Real>(
          1, -2 * std::numbers::pi_v<Real> * static_cast<Real>(j) / static_cast<Real>(length));
  }
  std::complex<Real> sum = 0;
  for (std::size_t j = 0; j < length; ++j) sum += Real{values[j]} * circle[f * j % length];
  return sum;
}

enum class Shape { flat, peak, spread };

std::vector<double> shaped(Shape shape, std::size_t length) {
  RngStream rng(1, Draw::test, 0, static_cast<std::uint32_t>(length));
  std::vector<double> values(length);
  for (std::size_t j = 0; j < length; ++j) {
    const auto x = static_cast<double>(j) / static_cast<double>(length);
    values[j] = shape == Shape::flat   ? rng.uniform()
                : shape == Shape::peak ? std::exp(-200 * x)
                                       : std::exp(40 * rng.normal() - 40);
  }
  return values;
}

// Errors are to stay below a quarter of the bound: it adds up the worst case of every operation.
TEST(RealFft, KeepsItsErrorBoundsAgainstTheSumWithRoom) {
  constexpr Real kRoom = 0.25;
  // Powers of 2, of 3 and of 5, and mixtures.
  for (const std::size_t length : {4, 12, 20, 60, 256, 972, 1000, 2500, 2916, 4096})
    for (const auto shape : {Shape::flat, Shape::peak, Shape::spread}) {
      SCOPED_TRACE(testing::Message() << length << " values of shape " << int(shape));
      const auto values = shaped(shape, length);
      Real one_norm = 0, two_norm = 0;
      for (const double value : values) one_norm += value, two_norm += Real{value} * value;
      RealFft fft(length);
      const Real allowed = kRoom * static_cast<Real>(fft.relative_error());
      const auto spectrum = fft.forward(values);
      ASSERT_EQ(spectrum.size(), length / 2 + 1);
      Real squares = 0;
      for (std::size_t f = 0; f < spectrum.size(); ++f) {
        const Real error = std::abs(std::complex<Real>(spectrum[f]) - direct(values, f));
        EXPECT_LE(error, allowed * one_norm) << f;
        squares += (f == 0 || 2 * f == length ? 1 : 2) * error * error;
      }
      EXPECT_LE(std::sqrt(squares), allowed * std::sqrt(two_norm * static_cast<Real>(length)));
    }
}

TEST(RealFft, InverseKeepsItsErrorBoundWithRoom) {
  constexpr Real kRoom = 0.25;
  for (const std::size_t length : {4, 12, 20, 60, 256, 972, 1000, 2500, 2916, 4096}) {
    // Half spectrum in, real values out: values(j) = (1/n) sum of spectrum(f) exp(+2 pi i f j / n).
    RngStream rng(2, Draw::test, 0, static_cast<std::uint32_t>(length));
    std::vector<std::complex<double>> spectrum(length / 2 + 1);
    for (auto& value : spectrum) value = {rng.normal(), rng.normal()};
    spectrum.front() = spectrum.front().real(), spectrum.back() = spectrum.back().real();
    std::vector<double> real, imaginary;  // of all frequencies
    for (std::size_t f = 0; f < length; ++f) {
      const auto value = f <= length / 2 ? spectrum[f] : std::conj(spectrum[length - f]);
      real.push_back(value.real());
      imaginary.push_back(-value.imag());
    }
    RealFft fft(length);
    const auto values = fft.inverse(spectrum);
    Real squares = 0, exact_squares = 0;
    for (std::size_t j = 0; j < length; ++j) {
      // The sum with exp(+...) is the conjugate of the sum of conjugates with exp(-...).
      const Real exact =
          (direct(real, j).real() - direct(imaginary, j).imag()) / static_cast<Real>(length);
      squares += (values[j] - exact) * (values[j] - exact);
      exact_squares += exact * exact;
    }
    EXPECT_LE(std::sqrt(squares),
              kRoom * static_cast<Real>(fft.relative_error()) * std::sqrt(exact_squares))
        << length;
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
