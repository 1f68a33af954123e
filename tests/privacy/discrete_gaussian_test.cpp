// SPDX-License-Identifier: Apache-2.0
#include "privacy/discrete_gaussian.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chi_square.hpp"
#include "every_simd_target.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "privacy/noise_trials.hpp"
#include "privacy/quad.hpp"
#include "secret_entropy.hpp"

namespace porter {

// Reads the table, to check what no number of draws would show.
struct DiscreteGaussianPeer {
  static std::size_t cells(const DiscreteGaussian& law) {
    const double width = std::ldexp(1.0, law.offset_bits_);
    return static_cast<std::size_t>(std::ceil(DiscreteGaussian::kCut * law.s_ / width));
  }
  static TrialWord word(const DiscreteGaussian& law) { return TrialWord(law.offset_bits_); }
  static bool accept(const DiscreteGaussian& law, std::uint64_t cell, std::uint64_t offset,
                     std::uint64_t level, NoiseStream& noise) {
    return law.accept(cell, offset, level, noise);
  }
  static bool accept_exactly(const DiscreteGaussian& law, std::uint64_t cell, std::uint64_t offset,
                             std::uint64_t level, NoiseStream& noise) {
    return law.accept_exactly(cell, offset, level, noise);
  }
  // What fill promises, one trial at a time: the words of a group first, then all that they need.
  static void fill_plainly(const DiscreteGaussian& law, NoiseStream& noise, std::span<double> out) {
    while (!out.empty()) {
      const auto whole = out.size() - out.size() % kTrialMultiple;
      const auto group = out.first(whole == 0 ? 1 : std::min(whole, kTrialGroup));
      std::vector<std::uint64_t> words(group.size());
      for (auto& word : words) word = noise.next_u64();
      for (std::size_t i = 0; i < group.size(); ++i) {
        auto value = law.finish(words[i], noise);
        while (!value) value = law.finish(noise.next_u64(), noise);
        group[i] = static_cast<double>(*value);
      }
      out = out.subspan(group.size());
    }
  }
  static bool short_slots_agree(const DiscreteGaussian& law) {
    const int hidden = 54 - word(law).share_bits();
    bool agree = law.short_slots_.size() == law.slots_.size();
    for (std::size_t slot = 0; slot < law.slots_.size(); ++slot)
      agree = agree && law.short_slots_[slot] % kSlots == law.slots_[slot].other &&
              law.short_slots_[slot] >> kSlotBits == law.slots_[slot].own_high >> hidden;
    return agree;
  }
  // The probability that a trial chooses each cell, in units of 2^-121.
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
  std::vector<double> values(count);
  law.fill(noise, values);
  return {values.begin(), values.end()};
}

TEST(DiscreteGaussian, EveryProbabilityFitsForSmallParameters) {
  const std::size_t count = 1'000'000;
  for (const double s : {0.0625, 0.3, 1.0, 3.7, 33.0, 127.9, 128.0, 300.5}) {
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
  for (const double s : {0.7, 40.0, 128.0, 1024.0, 0x1.fffp30, 0x1p44}) {
    SCOPED_TRACE(s);
    const DiscreteGaussian law(s);
    const auto cells = Peer::cells(law);
    const double width = std::ldexp(1.0, Peer::word(law).offset_bits());
    EXPECT_GE(double(cells) * width, DiscreteGaussian::kCut * s);
    EXPECT_TRUE(width == 1 || width <= s / 64);
    EXPECT_TRUE(Peer::short_slots_agree(law));
    const auto masses = Peer::masses(law);
    // Another way to the weights: rho((j + 1) w) = rho(j w) q^(2j + 1), q = exp(-w^2 / (2 s^2)).
    // The error of q, at most 2^-111, counts j^2 < 2^22 times, so all is good to 2^-88.
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
      const Quad p = expected[j] / sum * static_cast<Quad>(0x1p121);
      const double error = std::abs(double(static_cast<Quad>(masses[j]) - p));
      EXPECT_LE(error, 0x1p-88 * double(p) + 1) << j;
    }
    for (std::size_t j = cells; j < masses.size(); ++j) EXPECT_TRUE(masses[j] == 0) << j;
  }
}

TEST(DiscreteGaussian, AcceptsAsOftenAsTheRatioSays) {
  for (const double s : {0x1.8p8, 0x1.234p33, 0x1p44}) {
    const DiscreteGaussian law(s);
    NoiseStream noise(fixed_entropy);
    const double width = std::ldexp(1.0, Peer::word(law).offset_bits());
    const double levels = std::ldexp(1.0, Peer::word(law).level_bits());
    for (const std::size_t cell : {std::size_t{0}, Peer::cells(law) / 2, Peer::cells(law) - 1})
      for (const double part : {0.0, 0.3, 0.999}) {
        SCOPED_TRACE(testing::Message() << s << " cell " << cell << " part " << part);
        const auto offset = static_cast<std::uint64_t>(part * width);
        const double start = double(cell) * width, x = start + double(offset);
        const double ratio = std::exp((start * start - x * x) / (2 * s * s));
        // Accepted in the levels below the ratio, refused in those above it, and in the level of
        // the ratio as often as its part below the ratio says.
        const auto level = static_cast<std::uint64_t>(std::min(ratio * levels, levels - 1));
        for (std::uint64_t below = 0; below < level; below += 1 + level / 50)
          EXPECT_TRUE(Peer::accept(law, cell, offset, below, noise)) << below;
        EXPECT_TRUE(Peer::accept(law, cell, offset, level - 1, noise));
        EXPECT_FALSE(Peer::accept(law, cell, offset, level + 1, noise));
        int accepted = 0, accepted_exactly = 0;
        const int trials = 20'000;
        for (int i = 0; i < trials; ++i) {
          accepted += Peer::accept(law, cell, offset, level, noise);
          accepted_exactly += Peer::accept_exactly(law, cell, offset, level, noise);
        }
        const double share = ratio * levels - double(level);
        // Five standard errors, and what the rounding of the ratio moves.
        const double tolerance = 5 * std::sqrt(0.25 / trials) + 1e-6;
        EXPECT_NEAR(accepted / double(trials), share, tolerance);
        EXPECT_NEAR(accepted_exactly / double(trials), share, tolerance);
      }
  }
}

TEST(DiscreteGaussian, EveryInstructionSetDrawsWhatThePlainTrialsGive) {
  RngStream rng(7, Draw::test, 0, 0);
  for (int round = 0; round < 60; ++round) {
    const double s = std::exp2(-4 + 48 * rng.uniform());
    const auto count = static_cast<std::size_t>(1 + rng.below(1500));
    SCOPED_TRACE(testing::Message() << "s = " << s << ", " << count << " values");
    const DiscreteGaussian law(s);
    NoiseStream plain(fixed_entropy);
    std::vector<double> expected(count);
    Peer::fill_plainly(law, plain, expected);
    const auto next = plain.next_u64();
    for_every_simd_target([&](const std::string&) {
      NoiseStream noise(fixed_entropy);
      std::vector<double> values(count);
      law.fill(noise, values);
      EXPECT_EQ(values, expected);
      EXPECT_EQ(noise.next_u64(), next) << "as many words were used";
      for (const double value : values) ASSERT_FALSE(value == 0 && std::signbit(value));
    });
  }
}

TEST(DiscreteGaussian, TheFieldsOfAWordAreApart) {
  for (int offset_bits = 0; offset_bits <= 38; ++offset_bits) {
    const TrialWord word(offset_bits);
    EXPECT_GE(word.share_bits(), 7) << offset_bits;
    EXPECT_GE(word.level_bits(), 7) << offset_bits;
    EXPECT_LE(word.offset_at() + offset_bits, 63) << offset_bits;
    for (int bit = 0; bit < 64; ++bit) {  // no bit is read twice
      const auto one = std::uint64_t{1} << bit;
      const int readers = (TrialWord::slot(one) != 0) + (word.share(one) != 0) +
                          (word.level(one) != 0) + (word.offset(one) != 0) +
                          TrialWord::negative(one);
      EXPECT_LE(readers, 1) << offset_bits << " " << bit;
    }
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
