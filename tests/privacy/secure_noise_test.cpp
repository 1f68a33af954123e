// SPDX-License-Identifier: Apache-2.0
#include "privacy/secure_noise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "secret_entropy.hpp"
#include "special_values.hpp"

namespace porter {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> normal_vector(std::size_t dim, std::uint32_t round, double scale = 1) {
  std::vector<double> x(dim);
  RngStream(1, Draw::test, 0, round).fill_normal(x);
  for (double& value : x) value *= scale;
  return x;
}

bool is_multiple(double value, double grid) {
  const double steps = value / grid;  // exact, as the grid is a power of two
  return steps == std::nearbyint(steps) && std::abs(steps) <= 0x1p53;
}

TEST(SecureNoise, ReleasesExactMultiplesOfTheGrid) {
  for (const double stddev : {1e-6, 0.3, 1.903, 777.0})
    for (const double sensitivity : {2.0 / 600, 2.0}) {
      SCOPED_TRACE(testing::Message() << stddev << " " << sensitivity);
      const SecureNoise mechanism(stddev, sensitivity, 20'000);
      EXPECT_EQ(mechanism.grid(), std::ldexp(1.0, std::ilogb(mechanism.grid())));
      NoiseStream noise(fixed_entropy);
      auto g = normal_vector(20'000, 1, 0.01);
      mechanism.release(g, noise);
      for (const double y : g) {
        ASSERT_TRUE(is_multiple(y, mechanism.grid())) << y;
        ASSERT_FALSE(y == 0 && std::signbit(y)) << "a minus at zero is a bit of its own";
      }
    }
}

TEST(SecureNoise, EveryInstructionSetReleasesTheSameBits) {
  const std::size_t dim = 1003;
  const SecureNoise mechanism(0.7, 2, dim);
  auto g = normal_vector(dim, 3);
  for (std::size_t k = 0; k < dim; k += 5)  // half way between multiples: to the even one
    g[k] = mechanism.grid() * (0.5 + double(k) - 500);
  g[1] = 0x1p52 * mechanism.grid();
  g[2] = -(0x1p52 - 1) * mechanism.grid();
  g[3] = (0x1p51 + 0.5) * mechanism.grid();
  g[4] = -0.0;
  NoiseStream plain(fixed_entropy);
  std::vector<double> expected(dim);
  DiscreteGaussian(0.7 / mechanism.grid()).fill(plain, expected);
  for (std::size_t k = 0; k < dim; ++k)
    expected[k] = (std::nearbyint(g[k] / mechanism.grid()) + expected[k]) * mechanism.grid();
  for_every_simd_target([&](const std::string&) {
    NoiseStream noise(fixed_entropy);
    auto y = g;
    mechanism.release(y, noise);
    EXPECT_EQ(y, expected);
  });
}

TEST(SecureNoise, RefusesWhatIsNotFiniteAtEveryPlaceAndLeavesIt) {
  NoiseStream noise(fixed_entropy);
  std::map<std::size_t, SecureNoise> mechanisms;  // making one takes milliseconds
  for_every_special_value<double>([&](const std::vector<double>& g) {
    if (g.empty()) return;
    const auto& mechanism = mechanisms.try_emplace(g.size(), 0.7, 2, g.size()).first->second;
    auto y = g;
    if (all_finite(g)) {
      mechanism.release(y, noise);
      for (const double value : y) ASSERT_TRUE(std::isfinite(value));
    } else {
      ASSERT_THROW(mechanism.release(y, noise), Error);
      expect_same(y, g, "refused");
    }
  });
}

TEST(SecureNoise, AddsNoiseOfTheStandardDeviationAroundTheGradient) {
  const std::size_t dim = 1'000'000;
  const double stddev = 0.37;
  const SecureNoise mechanism(stddev, 2, dim);
  NoiseStream noise(fixed_entropy);
  const auto g = normal_vector(dim, 2);
  auto y = g;
  mechanism.release(y, noise);
  double mean = 0, square = 0, product = 0;
  for (std::size_t k = 0; k < dim; ++k) {
    const double z = (y[k] - g[k]) / stddev;
    mean += z / dim;
    square += z * z / dim;
    product += z * g[k] / dim;
  }
  // Five standard errors each.
  EXPECT_NEAR(mean, 0, 5e-3);
  EXPECT_NEAR(square, 1, 5e-3 * std::sqrt(2));
  EXPECT_NEAR(product, 0, 5e-3);
}

TEST(SecureNoise, TwoReleasesShareNoNoise) {
  const std::size_t dim = 100'000;
  const SecureNoise mechanism(1, 2, dim);
  NoiseStream first_agent, second_agent;
  std::vector<double> a(dim), b(dim), c(dim);
  mechanism.release(a, first_agent);
  mechanism.release(b, first_agent);
  mechanism.release(c, second_agent);
  // Correlations of independent noise are below seven standard errors, but for one in 10^11 runs.
  EXPECT_LT(std::abs(dot(a, b)) / dim, 7 / std::sqrt(dim));
  EXPECT_LT(std::abs(dot(a, c)) / dim, 7 / std::sqrt(dim));
}

TEST(SecureNoise, GridIsFineForTheSensitivityAndTheNoise) {
  for (const double stddev : {1e-9, 1e-3, 1.0, 50.0, 1e4})
    for (const double sensitivity : {1e-9, 2.0 / 6000, 2.0, 1e3})
      for (const std::size_t dim :
           {std::size_t{1}, std::size_t{124}, std::size_t{50'890}, std::size_t{1'000'000'000}}) {
        SCOPED_TRACE(testing::Message() << stddev << " " << sensitivity << " " << dim);
        if (stddev / sensitivity > 1e5) continue;  // refused below where it does not fit
        const double grid = choose_grid(stddev, sensitivity, dim);
        EXPECT_LE(std::sqrt(double(dim)) * grid, 1e-3 * sensitivity);
        EXPECT_GE(stddev / grid, 1024);
        EXPECT_LE(stddev / grid, DiscreteGaussian::kLargest);
        const double with = sensitivity_with_rounding(sensitivity, grid, dim);
        EXPECT_GT(with, sensitivity);
        EXPECT_LT(with, 1.001 * sensitivity);
      }
  EXPECT_LE(std::sqrt(50'890.0) * choose_grid(1.9, 2, 50'890), 2 * 0x1p-16);
  EXPECT_THROW(choose_grid(1e15, 1e-3, 1'000'000), Error);
  EXPECT_THROW(choose_grid(1e-300, 1, 10), Error);
}

TEST(SecureNoise, RoundedNeighboursStayWithinTheStatedSensitivity) {
  const std::size_t dim = 1000;
  const double grid = 0x1p-6;  // coarse, so that the rounding matters
  double largest = 0;
  for (std::uint32_t round = 0; round < 200; ++round) {
    const auto a = normal_vector(dim, 100 + round);
    auto b = normal_vector(dim, 1000 + round, 0.004);
    // The worst neighbours lie just on either side of a rounding boundary in each coordinate.
    std::vector<double> ra(dim), rb(dim);
    for (std::size_t k = 0; k < dim; ++k) {
      b[k] = a[k] + std::abs(b[k]);
      ra[k] = grid * std::nearbyint(a[k] / grid);
      rb[k] = grid * std::nearbyint(b[k] / grid);
    }
    const double before = std::sqrt(squared_distance(a, b));
    const double after = std::sqrt(squared_distance(ra, rb));
    EXPECT_LE(after, sensitivity_with_rounding(before, grid, dim));
    largest = std::max(largest, after / before);
  }
  EXPECT_GT(largest, 1.05) << "rounding does lengthen differences, so the term is needed";
}

TEST(SecureNoise, AveragingErrorCoversTheComputedMean) {
  for (const std::size_t batch : {1, 7, 600}) {
    const std::size_t dim = 50;
    std::vector<double> mean(dim);
    std::vector<long double> exact(dim);
    const double weight = 1.0 / double(batch);
    for (std::size_t i = 0; i < batch; ++i) {
      auto sample = normal_vector(dim, std::uint32_t(2000 + i));
      const double norm = std::sqrt(squared_norm(sample)) * (1 + 1e-12);
      for (double& value : sample) value /= norm;
      axpy(weight, sample, mean);
      for (std::size_t k = 0; k < dim; ++k) exact[k] += (long double)(sample[k]) / batch;
    }
    long double square = 0;
    for (std::size_t k = 0; k < dim; ++k) square += (mean[k] - exact[k]) * (mean[k] - exact[k]);
    EXPECT_LE(double(std::sqrt(square)), averaging_error(1, batch, batch)) << batch;
    EXPECT_LE(averaging_error(1, batch, batch), double(batch + 3) * 0x1p-53) << batch;
  }
}

TEST(SecureNoise, AccountsForAContinuousMechanismThatCoversIt) {
  const SecureNoise mechanism(1.903, 2, 50'890);
  EXPECT_LT(mechanism.accounted_stddev(), 1.903);
  EXPECT_GT(mechanism.accounted_stddev(), 1.903 * (1 - 2.4e-6));
  EXPECT_GT(mechanism.accounted_sensitivity(), 2);
  EXPECT_LT(mechanism.accounted_sensitivity(), 2 * (1 + 2e-5));
  // A million rounds of a model with 50,890 coordinates add less than 1e-17 to delta at epsilon 1.
  EXPECT_LT(delta_with_distance(1, 0, 1e6 * mechanism.statistical_distance()), 1e-17);
}

// The step of the proof that can be computed: a continuous Gaussian of variance s^2 - 5, rounded by
// a discrete Gaussian of variance 5 around it, has the law of the discrete Gaussian with parameter
// s.
TEST(SecureNoise, RandomisedRoundingOfTheContinuousLawGivesTheDiscreteOne) {
  const long double s2 = 30, continuous = s2 - 5, step = 1.0L / 64;
  const auto normaliser = [](long double y) {
    long double sum = 0;
    for (int z = -60; z <= 60; ++z) sum += std::exp(-(z - y) * (z - y) / 10);
    return sum;
  };
  for (long double y = 0; y <= 1; y += 0.125L)
    EXPECT_NEAR(double(normaliser(y) / normaliser(0)), 1, 1e-15) << double(y);
  long double total = 0;
  for (int x = -90; x <= 90; ++x) total += std::exp(-x * x / (2 * s2));
  for (const int z : {0, 1, 5, 14, 30}) {
    long double mass = 0;  // the trapezoid rule is exact beyond double for such smooth functions
    for (long double y = -60; y <= 60; y += step)
      mass += step * std::exp(-y * y / (2 * continuous)) * std::exp(-(z - y) * (z - y) / 10) /
              normaliser(y - std::floor(y));
    mass /= std::sqrt(2 * 3.14159265358979323846264338L * continuous);
    EXPECT_NEAR(double(mass / (std::exp(-z * z / (2 * s2)) / total)), 1, 1e-12) << z;
  }
}

TEST(SecureNoise, RefusesWhatItCannotProtectAndLeavesItUntouched) {
  const SecureNoise mechanism(1, 2, 3);
  NoiseStream noise(fixed_entropy);
  for (const double bad : {kNan, kUnbounded, -kUnbounded, 1e300}) {
    std::vector<double> g{1, bad, 3};
    try {
      mechanism.release(g, noise);
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::privacy);
    }
    EXPECT_EQ(g[0], 1);
    EXPECT_EQ(g[2], 3);
  }
  std::vector<double> short_vector(2);
  EXPECT_THROW(mechanism.release(short_vector, noise), Error);
  for (const double bad : {0.0, -1.0, kNan, kUnbounded}) {
    EXPECT_THROW(SecureNoise(bad, 2, 3), Error) << bad;
    EXPECT_THROW(SecureNoise(1, bad, 3), Error) << bad;
  }
  EXPECT_THROW(SecureNoise(1, 2, 0), Error);
}

// Norms are sums of as many rounded terms, so what is clipped by them may be that much longer.
TEST(SecureNoise, CoversTheErrorOfTheNormsThatClip) {
  const std::size_t dim = std::size_t{1} << 40;
  EXPECT_GE(SecureNoise(1, 1, dim).accounted_sensitivity(), 1 + 0x1p-12);
}

}  // namespace
}  // namespace porter
