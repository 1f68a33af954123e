// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/discrete_gaussian.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chi_square.hpp"
#include "porter/core/error.hpp"
#include "privacy/quad.hpp"
#include "secret_entropy.hpp"

namespace porter {

// Reads the table, to check what no number of draws would show.
struct DiscreteGaussianPeer {
  static std::size_t cells(const DiscreteGaussian& law) { return law.squeeze_.size(); }
  static int offset_bits(const DiscreteGaussian& law) { return law.offset_bits_; }
  static std::uint32_t squeeze(const DiscreteGaussian& law, std::size_t cell) {
    return law.squeeze_[cell];
  }
  static bool accept(const DiscreteGaussian& law, std::uint64_t cell, std::uint64_t offset,
                     std::uint64_t level, NoiseStream& noise) {
    return law.accept_exactly(cell, offset, level, noise);
  }
  // The probability that a trial chooses each cell, in units of 2^-120.
  static std::vector<Uint128> masses(const DiscreteGaussian& law) {
    std::vector<Uint128> masses(law.slots_.size(), 0);
    for (std::size_t slot = 0; slot < law.slots_.size(); ++slot) {
      const auto& entry = law.slots_[slot];
      const Uint128 own = (Uint128{entry.own_high} << 56) + entry.own_low;
      masses[slot] += own;
      masses[entry.other] += (Uint128{1} << 110) - own;
    }
    return masses;
  }
};

namespace {

using Peer = DiscreteGaussianPeer;

std::vector<std::int64_t> draw(const DiscreteGaussian& law, std::size_t count) {
  NoiseStream noise(fixed_entropy);
  std::vector<std::int64_t> values(count);
  law.fill(noise, values);
  return values;
}

TEST(DiscreteGaussian, EveryProbabilityFitsForSmallParameters) {
  const std::size_t count = 1'000'000;
  for (const double s : {0.0625, 0.3, 1.0, 3.7, 33.0, 63.9, 64.0, 150.5}) {
    SCOPED_TRACE(s);
    const auto reach = static_cast<std::int64_t>(std::ceil(DiscreteGaussian::kCut * s));
    std::vector<double> expected;
    long double sum = 0;
    for (std::int64_t x = -reach; x <= reach; ++x) {
      const long double ratio = static_cast<long double>(x) / s;
      expected.push_back(double(std::exp(-ratio * ratio / 2)));
      sum += expected.back();
    }
    for (auto& value : expected) value *= double(count / sum);
    std::vector<std::uint64_t> counts(expected.size());
    for (const auto x : draw(DiscreteGaussian(s), count)) ++counts.at(std::size_t(x + reach));
    if (s < 0.1) {
      EXPECT_EQ(counts[std::size_t(reach)], count) << "one in e^128 values is not zero";
      continue;
    }
    EXPECT_LT(chi_square_score(counts, expected), 4);
  }
}

TEST(DiscreteGaussian, EveryBinFitsForLargeParameters) {
  const std::size_t count = 1'000'000;
  const int bins = 96;  // an eighth of s each, to 6 s on both sides
  // P(X < a) is within 1 / s^2 of the normal law at a - 1/2, far below what the count can show.
  const auto below = [](double a) { return 0.5 * std::erfc(-a / std::sqrt(2)); };
  for (const double s : {1024.0, 1e4, 0x1.5p20, 3e9, 0x1p39, 0x1p44}) {
    SCOPED_TRACE(s);
    std::vector<std::uint64_t> counts(bins);
    for (const auto x : draw(DiscreteGaussian(s), count)) {
      const double bin = std::floor(8 * (double(x) / s + 6));
      if (bin >= 0 && bin < bins) ++counts[std::size_t(bin)];
    }
    std::vector<double> expected;
    for (int bin = 0; bin < bins; ++bin) {
      const auto edge = [&](int i) { return (std::ceil((i / 8.0 - 6) * s) - 0.5) / s; };
      expected.push_back(double(count) * (below(edge(bin + 1)) - below(edge(bin))));
    }
    EXPECT_LT(chi_square_score(counts, expected), 4);
  }
}

TEST(DiscreteGaussian, LowBitsAreUniformForLargeParameters) {
  for (const double s : {1024.0, 0x1.8p23, 0x1p44}) {
    std::vector<std::uint64_t> counts(256);
    for (const auto x : draw(DiscreteGaussian(s), 1'000'000)) ++counts[std::size_t(x & 255)];
    // By Poisson summation residues modulo 256 are uniform up to exp(-2 pi^2 (s/256)^2).
    EXPECT_LT(chi_square_score(counts, std::vector<double>(256, 1e6 / 256)), 4) << s;
  }
}

TEST(DiscreteGaussian, MomentsAreThoseOfTheNormalLaw) {
  const double s = 0x1.3p25;
  const auto values = draw(DiscreteGaussian(s), 4'000'000);
  const auto n = double(values.size());
  double moments[5] = {}, lag = 0, previous = 0;
  for (const auto x : values) {
    const double y = double(x) / s;
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(y, k) / n;
    lag += y * previous / n;
    previous = y;
  }
  // Five standard errors: the variances of y, y^2, y^3, y^4 and y y' are 1, 2, 15, 96 and 1.
  EXPECT_NEAR(moments[1], 0, 5 * std::sqrt(1 / n));
  EXPECT_NEAR(moments[2], 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(moments[3], 0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(moments[4], 3, 5 * std::sqrt(96 / n));
  EXPECT_NEAR(lag, 0, 5 * std::sqrt(1 / n));
}

TEST(DiscreteGaussian, DrawnTailsHaveTheirMass) {
  const double s = 0x1p30;
  const auto values = draw(DiscreteGaussian(s), 10'000'000);
  for (const double bound : {3.0, 4.0, 5.0}) {
    const auto beyond = std::count_if(values.begin(), values.end(),
                                      [&](auto x) { return std::abs(double(x)) > bound * s; });
    const double expected = 1e7 * std::erfc(bound / std::sqrt(2));
    EXPECT_NEAR(double(beyond), expected, 5 * std::sqrt(expected)) << bound;
  }
}

TEST(DiscreteGaussian, TheTableHasTheExactMassOfEveryCellOutToThirteen) {
  for (const double s : {0.7, 40.0, 64.0, 1024.0, 0x1.fffp30, 0x1p44}) {
    SCOPED_TRACE(s);
    const DiscreteGaussian law(s);
    const auto cells = Peer::cells(law);
    const double width = std::ldexp(1.0, Peer::offset_bits(law));
    EXPECT_GE(double(cells) * width, DiscreteGaussian::kCut * s);
    EXPECT_TRUE(width == 1 || width <= s / 32);
    const auto masses = Peer::masses(law);
    // Another way to the weights: rho((j + 1) w) = rho(j w) q^(2j + 1), q = exp(-w^2 / (2 s^2)).
    // The error of q, at most 2^-111, counts j^2 < 2^20 times, so all is good to 2^-90.
    const Quad ratio = static_cast<Quad>(width) / static_cast<Quad>(s);
    const Quad t = ratio * ratio / 2;
    const Quad q = exp_minus_series(t, 60), q_squared = q * q;
    std::vector<Quad> expected;
    Quad sum = 0, weight = 1, power = q;
    for (std::size_t j = 0; j < cells; ++j) {
      expected.push_back(weight);
      sum += weight;
      weight *= power;
      power *= q_squared;
    }
    for (std::size_t j = 0; j < cells; ++j) {
      const Quad p = expected[j] / sum * static_cast<Quad>(0x1p120);
      const double error = std::abs(double(static_cast<Quad>(masses[j]) - p));
      EXPECT_LE(error, 0x1p-90 * double(p) + 1) << j;
    }
    for (std::size_t j = cells; j < masses.size(); ++j) EXPECT_TRUE(masses[j] == 0) << j;
  }
}

TEST(DiscreteGaussian, AcceptsAsOftenAsTheRatioSays) {
  const double s = 0x1.234p33;
  const DiscreteGaussian law(s);
  NoiseStream noise(fixed_entropy);
  const double width = std::ldexp(1.0, Peer::offset_bits(law));
  for (const std::size_t cell : {std::size_t{0}, Peer::cells(law) / 2, Peer::cells(law) - 1})
    for (const double part : {0.0, 0.3, 0.999}) {
      const auto offset = static_cast<std::uint64_t>(part * width);
      const double start = double(cell) * width, x = start + double(offset);
      const double ratio = std::exp((start * start - x * x) / (2 * s * s));
      // A level is 2^-24 of U: accepted below the ratio, refused above it, and in the level of the
      // ratio as often as its part below the ratio says.
      const auto level = static_cast<std::uint64_t>(std::min(ratio * 0x1p24, 0x1p24 - 1));
      EXPECT_LE(Peer::squeeze(law, cell), level) << "the squeeze is below every ratio";
      EXPECT_TRUE(Peer::accept(law, cell, offset, level - 1, noise));
      EXPECT_EQ(Peer::accept(law, cell, offset, level + 1, noise), false);
      int accepted = 0;
      const int trials = 20'000;
      for (int i = 0; i < trials; ++i) accepted += Peer::accept(law, cell, offset, level, noise);
      const double share = ratio * 0x1p24 - double(level);
      EXPECT_NEAR(accepted / double(trials), share, 5 * std::sqrt(0.25 / trials) + 1e-6);
    }
}

TEST(DiscreteGaussian, QuadrupleExponentialIsExact) {
  // exp(-1) as two doubles, good to 2^-107; and exp(-a) exp(-b) = exp(-(a + b)).
  const Quad known =
      static_cast<Quad>(0x1.78b56362cef38p-2) + static_cast<Quad>(-0x1.ca8a4270fadf5p-57);
  const auto distance = [](Quad a, Quad b) { return std::abs(double((a - b) / b)); };
  EXPECT_LT(distance(exp_minus(1), known), 0x1p-104);
  for (const double t : {0.001, 0.5, 3.0, 20.0, 42.25})
    EXPECT_LT(distance(exp_minus(t) * exp_minus(t), exp_minus(2 * t)), 0x1p-101) << t;
  for (const double t : {0.0, 0.1, 0.42}) {
    EXPECT_LT(distance(exp_minus_series<Quad>(t, 32), exp_minus(t)), 0x1p-101) << t;
    EXPECT_NEAR(exp_minus_series(t, 16), std::exp(-t), 0x1p-51) << t;
  }
}

TEST(DiscreteGaussian, RefusesParametersOutsideItsRange) {
  for (const double s : {0.0, -1.0, 0.01, 0x1p45, std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(DiscreteGaussian{s}, Error) << s;
}

}  // namespace
}  // namespace porter
