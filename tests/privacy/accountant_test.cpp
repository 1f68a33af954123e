// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/accountant.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

using privacy::delta, privacy::epsilon;

PrivacyEvent fixed(std::size_t m, std::size_t b, double z, std::uint64_t steps) {
  return {
      .sampler = Sampler::fixed, .records = m, .batch = b, .noise_multiplier = z, .steps = steps};
}

PrivacyEvent poisson(double q, double z, std::uint64_t steps,
                     Adjacency adjacency = Adjacency::add_remove) {
  return {.sampler = Sampler::poisson,
          .adjacency = adjacency,
          .rate = q,
          .noise_multiplier = z,
          .steps = steps};
}

PrivacyEvent full(double z, std::uint64_t steps, Adjacency adjacency = Adjacency::replace) {
  return {.sampler = Sampler::full, .adjacency = adjacency, .noise_multiplier = z, .steps = steps};
}

void expect_close(double value, double expected, double relative = 1e-3) {
  EXPECT_NEAR(value, expected, relative * expected);
}

// From Google's dp_accounting and an independent accountant.
TEST(Accountant, HasTheReferenceValues) {
  const struct {
    PrivacyEvent event;
    double delta, epsilon;
  } tight[] = {
      {poisson(0.01, 1, 1000), 1e-5, 1.828238410982763},
      {poisson(0.2, 0.5, 3), 0.15594, 0.9999250819176598},
      {poisson(0.0001, 0.6, 100'000), 1e-6, 0.9633149644382234},
      {poisson(1.0 / 3256, 80.72054314737302, 1'000'000), 1e-3, 0.0011825437008220977},
      {poisson(0.01, 1, 1000, Adjacency::replace), 1e-5, 2.843441648791072},
      {poisson(1.0 / 3256, 0.2552607703, 1000, Adjacency::replace), 1e-3, 10.730432963568632}};
  for (const auto& c : tight) {
    const auto interval = epsilon(c.event, c.delta);
    expect_close(interval.upper, c.epsilon);
    expect_close(interval.lower, c.epsilon, 2e-3);
    EXPECT_GE(interval.upper, c.epsilon * (1 - 1e-5)) << "the references are good to 1e-5";
  }
  const struct {
    PrivacyEvent event;
    double delta, lower, upper;
  } intervals[] = {
      {fixed(3256, 1, 2.5526077031, 1000), 1e-3, 0.007726747221759786, 0.010865614348000655},
      {fixed(3256, 1, 8.0720543147, 1'000'000), 1e-3, 0.14430286169477594, 0.16096786159133095},
      {fixed(6000, 1, 0.4380434808, 10'000), 1e-3, 30.245475010585242, 31.222904602332726},
      {fixed(3256, 32, 4, 3256), 1e-5, 1.1481063567427334, 1.3454005178828417},
      {fixed(100, 50, 10, 20), 1e-6, 2.1031271973163292, 2.1206102104683326}};
  for (const auto& c : intervals) {
    const auto interval = epsilon(c.event, c.delta);
    expect_close(interval.lower, c.lower);
    expect_close(interval.upper, c.upper);
    EXPECT_LE(interval.lower, c.lower * (1 + 1e-5));
  }
}

using Real = long double;

// delta_G(e; mu)
Real plain_gaussian_curve(Real e, Real mu) {
  if (e < 0) return -std::expm1(e) + std::exp(e) * plain_gaussian_curve(-e, mu);
  const auto tail = [](Real x) { return std::erfc(x / std::sqrt(Real{2})) / 2; };
  return tail(e / mu - mu / 2) - std::exp(e) * tail(e / mu + mu / 2);
}

// One Poisson step, from (1-q) N(0,1) + q N(mu,1) to N(0,1) and back, for every e.
Real plain_remove_curve(Real e, Real q, Real mu) {
  const Real inside = std::expm1(e) / q;
  return inside <= -1 ? -std::expm1(e) : q * plain_gaussian_curve(std::log1p(inside), mu);
}
Real add_curve(Real e, Real q, Real mu) {
  const Real rest = 1 - std::exp(e) * (1 - q);
  return rest <= 0 ? 0 : rest * plain_gaussian_curve(e + std::log(q / rest), mu);
}

// Two of them: the second one's curve, averaged over the first one's loss. The trapezoidal rule
// converges faster than any power for such integrands; their finest detail is q / mu wide.
Real two_steps(Real e, Real q, Real mu) {
  Real removed = 0, added = 0;
  const Real step = Real{1} / 1024;
  for (Real x = -14; x < mu + 14; x += step) {
    const Real loss = std::log1p(q * std::expm1(mu * x - mu * mu / 2));
    const Real centre = std::exp(-x * x / 2), moved = std::exp(-(x - mu) * (x - mu) / 2);
    removed += ((1 - q) * centre + q * moved) * plain_remove_curve(e - loss, q, mu);
    added += centre * add_curve(e + loss, q, mu);
  }
  return std::max(removed, added) * step / std::sqrt(2 * std::acos(Real{-1}));
}

TEST(Accountant, EnclosesTheTruthOfTwoSteps) {
  for (const double q : {0.05, 0.4, 0.9})
    for (const double z : {0.4, 1.0, 5.0})
      for (const double delta : {1e-2, 1e-4, 1e-7}) {
        const auto interval = epsilon(poisson(q, z, 2), delta);
        SCOPED_TRACE(testing::Message() << "q " << q << " z " << z << " delta " << delta << " ["
                                        << interval.lower << ", " << interval.upper << ']');
        // The integrals are good to about 1e-12 relative to the larger of delta and 1e-5.
        EXPECT_LE(two_steps(interval.upper, q, 1 / z), delta * (1 + 1e-9));
        if (interval.lower > 0) {
          EXPECT_GE(two_steps(interval.lower, q, 1 / z), delta * (1 - 1e-9));
        }
        EXPECT_LE(interval.upper - interval.lower, 0.01 * interval.upper + 1e-9);
      }
}

TEST(Accountant, HasALowerBoundBelowTheReferences) {
  // Truths of an independent accountant, good to 1e-5; what was called a lower bound was above.
  EXPECT_LE(epsilon(poisson(0.01, 1, 1000), 1e-5).lower, 1.828238410982763 * (1 + 1e-5));
  EXPECT_LE(epsilon(poisson(0.01, 1, 1000, Adjacency::replace), 1e-5).lower,
            2.843441648791072 * (1 + 1e-5));
  EXPECT_LE(epsilon(poisson(0.0001, 0.6, 100'000), 1e-6).lower, 0.9633149644382234 * (1 + 1e-5));
}

TEST(Accountant, AnswersOrRefusesWhateverIsAsked) {
  // All of these took minutes or gigabytes; what bounds the work is the number of grid points.
  const auto largest = std::numeric_limits<std::int64_t>::max();
  for (const auto& event :
       {fixed(1000, 10, 1e-99, 10), fixed(1000, 10, 1e-9, 10), fixed(1000, 10, 1e99, 10),
        fixed(1000, 10, 10, static_cast<std::uint64_t>(largest)), poisson(1e-300, 0.05, 10),
        poisson(0.5, 1e-200, 1000), poisson(1e-7, 1, 100'000, Adjacency::replace),
        poisson(1e-9, 1e-3, 1'000'000'000'000)})
    for (const double delta : {1e-5, 1e-300}) {
      SCOPED_TRACE(testing::Message() << "z " << event.noise_multiplier << " steps " << event.steps
                                      << " delta " << delta);
      const auto interval = epsilon(event, delta);
      EXPECT_GE(interval.upper, interval.lower);
      EXPECT_GE(interval.lower, 0);
      const double at_zero = privacy::delta(std::span(&event, 1), 0);
      EXPECT_TRUE(at_zero >= 0 && at_zero <= 1) << at_zero;
      EXPECT_TRUE(privacy::delta(std::span(&event, 1), 1e300) <= 1);
    }
  for (const double target : {1e-300, 1e-12, 1e12, 1e300}) {
    auto event = fixed(1000, 10, 0, 10);
    event.noise_multiplier = calibrate_noise_multiplier(event, target, 1e-5);
    EXPECT_LE(epsilon(event, 1e-5).upper, target);
  }
}

// With probability 1 - delta the record is not used at all, whatever the noise.
TEST(Accountant, ARecordThatIsHardlyEverUsedCostsNothing) {
  for (const double z : {1e-10, 1e-5, 1e-3, 1.0}) {
    SCOPED_TRACE(z);
    EXPECT_EQ(epsilon(poisson(1e-300, z, 10'000, Adjacency::replace), 1e-5).upper, 0);
    EXPECT_EQ(epsilon(poisson(1e-11, z, 999'999), 1e-5).upper, 0);
    EXPECT_EQ(epsilon(fixed(1'000'000, 1, z, 9), 1e-5).upper, 0);
  }
  EXPECT_GT(epsilon(fixed(1'000'000, 1, 1e-3, 11), 1e-5).lower, 0);
  EXPECT_GT(epsilon(poisson(1e-11, 0, 10), 1e-5).upper, 0);  // noise is a condition all the same
}

// Losses that are as small as rounding: sampling cannot be seen then, but it does no harm.
TEST(Accountant, IsNeverWorseThanWithoutSamplingAtTheSmallestRates) {
  for (const double z : {1.0, 3.0, 10.0, 1000.0})
    for (const double q : {1.1111e-19, 1e-16}) {
      SCOPED_TRACE(testing::Message() << "z " << z << " q " << q);
      for (const std::uint64_t steps : {2, 10'000}) {
        const double unsampled = epsilon(full(z, steps), 1e-30).upper;
        EXPECT_LE(epsilon(poisson(q, z, steps, Adjacency::replace), 1e-30).upper, unsampled);
        EXPECT_LE(epsilon(poisson(q, z, steps), 1e-30).upper, unsampled);
      }
    }
}

TEST(Accountant, SmallRatesNeedNoParticularNumberOfSteps) {
  double before = 0;
  for (const std::uint64_t steps : {10'000, 31'623, 100'000, 316'228, 1'000'000}) {
    for (const double delta : {1e-9, 1e-12}) {
      const auto interval = epsilon(poisson(1e-7, 1, steps), delta);
      EXPECT_LE(interval.upper, renyi_epsilon(std::vector{poisson(1e-7, 1, steps)}, delta));
      // Rare large losses take a coarse grid.
      EXPECT_LE(interval.upper, 2 * interval.lower + 1e-9) << steps << ' ' << delta;
    }
    const double now = epsilon(poisson(1e-7, 1, steps), 1e-9).upper;
    EXPECT_GT(now, before) << steps;
    before = now;
  }
}

TEST(Accountant, TheRenyiBoundCountsTheSampling) {
  for (const auto& event : {fixed(3256, 32, 4, 3256), fixed(6000, 1, 1, 1000),
                            fixed(100, 50, 10, 20), fixed(1000, 10, 30, 100'000)}) {
    const double renyi = renyi_epsilon(std::span(&event, 1), 1e-5);
    const auto interval = epsilon(event, 1e-5);
    EXPECT_GE(renyi, interval.upper);
    EXPECT_LE(renyi, 25 * interval.upper);  // thousands of times, were it without
  }
  // No bound is known for this one.
  const auto event = poisson(0.01, 1, 1000, Adjacency::replace);
  EXPECT_EQ(renyi_epsilon(std::span(&event, 1), 1e-5), std::numeric_limits<double>::infinity());
}

TEST(Accountant, IsAtMostTheRenyiBound) {
  RngStream rng(1, Draw::test, 0, 0);
  for (int i = 0; i < 200; ++i) {
    const auto log_uniform = [&](double low, double high) {
      return low * std::pow(high / low, rng.uniform());
    };
    const auto event = poisson(log_uniform(1e-4, 1), log_uniform(0.4, 20),
                               static_cast<std::uint64_t>(log_uniform(1, 20'000)));
    const double delta = log_uniform(1e-9, 1e-2);
    SCOPED_TRACE(testing::Message() << "q " << *event.rate << " z " << event.noise_multiplier
                                    << " steps " << event.steps << " delta " << delta);
    EXPECT_LE(epsilon(event, delta).upper, renyi_epsilon(std::span(&event, 1), delta));
  }
}

TEST(Accountant, RateOneIsTheGaussianMechanism) {
  for (const double z : {0.7, 5.0, 40.0}) {
    const double exact = epsilon(full(z, 100, Adjacency::add_remove), 1e-5).upper;
    EXPECT_EQ(epsilon(poisson(1, z, 100), 1e-5).upper, exact);
    const auto near = epsilon(poisson(1 - 1e-9, z, 100), 1e-5);
    expect_close(near.upper, exact);
    const double replace = epsilon(full(z, 100), 1e-5).upper;
    EXPECT_EQ(epsilon(poisson(1, z, 100, Adjacency::replace), 1e-5).upper, replace);
    expect_close(epsilon(poisson(1 - 1e-9, z, 100, Adjacency::replace), 1e-5).upper, replace);
    EXPECT_EQ(epsilon(fixed(50, 50, z, 100), 1e-5).upper, replace);
  }
}

TEST(Accountant, GaussianStepsAreOneWithLessNoise) {
  for (const std::uint64_t steps : {1, 4, 1000})
    expect_close(epsilon(full(3, steps), 1e-6).upper,
                 epsilon(full(3 / std::sqrt(static_cast<double>(steps)), 1), 1e-6).upper, 1e-12);
}

TEST(Accountant, FixedSizeLowerBoundIsPoissonWithHalfTheNoise) {
  for (const double z : {1.5, 6.0})
    for (const std::uint64_t steps : {10, 2000}) {
      const auto lower = epsilon(fixed(1000, 20, z, steps), 1e-5).lower;
      expect_close(epsilon(poisson(0.02, z / 2, steps), 1e-5).lower, lower);
    }
}

TEST(Accountant, SingleStepsAreExact) {
  // delta = q delta_G(log(1 + (exp(e) - 1) / q); 1 / z), from 50 digits.
  const auto event = poisson(0.1, 1, 1);
  expect_close(delta(std::span(&event, 1), 2), 2.355186318853963976902439e-6, 1e-10);
  expect_close(epsilon(event, 2.355186318853963976902439e-6).upper, 2, 1e-9);
  const auto wor = fixed(10, 3, 1, 1);
  expect_close(delta(std::span(&wor, 1), 2), 0.05132018246327957777570713, 1e-10);
}

TEST(Accountant, GrowsWithStepsRateAndLessNoiseAndSmallerDelta) {
  const auto expect_growing = [](const char* what, const auto& value, std::vector<double> along) {
    double before = -1;
    for (const double x : along) {
      const double now = value(x);
      EXPECT_GT(now, before) << what << ' ' << x;
      before = now;
    }
  };
  expect_growing("steps",
                 [](double t) {
                   return epsilon(fixed(500, 10, 3, static_cast<std::uint64_t>(t)), 1e-5).upper;
                 },
                 {50, 100, 101, 500, 5000});
  expect_growing("rate", [](double q) { return epsilon(poisson(q, 2, 500), 1e-5).upper; },
                 {0.01, 0.011, 0.1, 0.5, 0.99, 1});
  expect_growing("less noise",
                 [](double z) { return epsilon(poisson(0.05, 1 / z, 200), 1e-5).upper; },
                 {0.1, 0.101, 0.5, 1, 4});
  expect_growing("smaller delta",
                 [](double d) { return epsilon(fixed(500, 10, 3, 300), 1 / d).upper; },
                 {1e2, 1e3, 1.1e3, 1e6, 1e12, 1e30});
}

TEST(Accountant, ComposesPhasesInAnyOrderAndSplit) {
  const double delta = 1e-5;
  const PrivacyEvent split[] = {fixed(500, 10, 3, 120), fixed(500, 10, 3, 180)};
  expect_close(epsilon(split, delta).upper, epsilon(fixed(500, 10, 3, 300), delta).upper, 1e-6);
  const PrivacyEvent there[] = {fixed(500, 10, 3, 300), full(60, 20)};
  const PrivacyEvent back[] = {full(60, 20), fixed(500, 10, 3, 300)};
  const double together = epsilon(there, delta).upper;
  expect_close(epsilon(back, delta).upper, together, 1e-9);
  EXPECT_GT(together, epsilon(there[0], delta).upper);
  EXPECT_LT(together, epsilon(there[0], delta / 2).upper + epsilon(there[1], delta / 2).upper);
  const PrivacyEvent mixed[] = {fixed(500, 10, 3, 300), poisson(0.02, 3, 300, Adjacency::replace)};
  const auto interval = epsilon(mixed, delta);
  EXPECT_LT(interval.lower, interval.upper);
  EXPECT_GE(interval.lower, epsilon(mixed[0], delta).lower * (1 - 1e-3));
}

TEST(Accountant, DeltaAndEpsilonAreInverse) {
  for (const auto& event : {fixed(500, 10, 3, 300), poisson(0.02, 1, 500)}) {
    const double e = epsilon(event, 1e-6).upper;
    expect_close(delta(std::span(&event, 1), e), 1e-6, 1e-2);
  }
}

TEST(Accountant, AnAgentIsNotHiddenBySampling) {
  auto event = fixed(1000, 8, 40, 100);
  event.level = PrivacyLevel::agent;
  // All 8 records of a batch change: 2 * 8 / 40 a step.
  EXPECT_EQ(epsilon(event, 1e-5).upper, epsilon(full(40.0 / 8, 100), 1e-5).upper);
}

TEST(Accountant, NoNoiseIsNoPrivacyAndNoStepsAreFree) {
  EXPECT_EQ(epsilon(fixed(10, 1, 0, 5), 1e-5).lower, std::numeric_limits<double>::infinity());
  EXPECT_EQ(epsilon(fixed(10, 1, 1, 0), 1e-5).upper, 0);
  EXPECT_EQ(epsilon(std::span<const PrivacyEvent>{}, 1e-5).upper, 0);
}

TEST(Accountant, SurvivesExtremeNoise) {
  for (const double z : {1e-3, 0.03, 1e3, 1e6})
    for (const auto& event : {fixed(100, 3, z, 50), poisson(0.03, z, 50)}) {
      const auto interval = epsilon(event, 1e-5);
      EXPECT_TRUE(std::isfinite(interval.upper)) << z;
      EXPECT_LE(interval.upper, renyi_epsilon(std::span(&event, 1), 1e-5) * (1 + 1e-3)) << z;
    }
}

TEST(Accountant, ResolvesTinyLosses) {
  // All losses are far below the error of the window, which counts by their size.
  const auto interval = epsilon(poisson(3.4e-6, 42, 3, Adjacency::replace), 5.5e-12);
  EXPECT_GT(interval.lower, 0);
  EXPECT_LT(interval.upper, 1e-5);
}

TEST(Accountant, RefusesWhatMakesNoSense) {
  const double nan = std::nan("");
  const auto good = fixed(10, 1, 1, 5);
  for (const double bad : {0.0, 1.0, -1e-5, nan}) EXPECT_THROW(epsilon(good, bad), Error) << bad;
  for (const double bad : {-1.0, nan}) EXPECT_THROW(delta(std::span(&good, 1), bad), Error) << bad;
  for (const double bad : {-1.0, nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(epsilon(fixed(10, 1, bad, 5), 1e-5), Error) << bad;
    EXPECT_THROW(noise_multiplier(bad, 1, 1), Error) << bad;
  }
  for (const double bad : {0.0, -0.1, 1.1, nan})
    EXPECT_THROW(epsilon(poisson(bad, 1, 5), 1e-5), Error) << bad;
  EXPECT_THROW(epsilon(fixed(10, 11, 1, 5), 1e-5), Error);
  EXPECT_THROW(epsilon(fixed(10, 0, 1, 5), 1e-5), Error);
  auto add_remove = good;
  add_remove.adjacency = Adjacency::add_remove;
  EXPECT_THROW(epsilon(add_remove, 1e-5), Error);
  const PrivacyEvent unlike[] = {good, poisson(0.1, 1, 5)};
  EXPECT_THROW(epsilon(unlike, 1e-5), Error);
}

TEST(EpsilonCurve, BoundsEveryNumberOfSteps) {
  for (const auto& event : {fixed(3256, 1, 2, 10'000), fixed(3256, 1, 0.3, 10'000),
                            poisson(0.01, 1, 1000), full(30, 1000)}) {
    const EpsilonCurve curve(event, 1e-4);
    double before = 0;
    for (const std::uint64_t steps : {1, 7, 63, 64, 65, 100, 400, 777, 999, 1000}) {
      auto shorter = event;
      shorter.steps = steps;
      const auto interval = epsilon(shorter, 1e-4);
      const double upper = curve.upper(steps);
      EXPECT_GE(upper, interval.lower) << steps;
      // Half a per cent for the grid at the end, 3 % for the rounded count.
      EXPECT_LE(upper, 1.05 * interval.upper + 1e-6) << steps;
      EXPECT_GE(upper, before * (1 - 1e-3)) << steps;
      EXPECT_EQ(curve.exact(steps), interval.upper) << steps;
      before = upper;
    }
    EXPECT_EQ(curve.upper(0), 0);
    const auto whole = epsilon(event, 1e-4), kept = curve.interval();
    EXPECT_EQ(curve.upper(event.steps), whole.upper);
    EXPECT_EQ(kept.upper, whole.upper);
    EXPECT_EQ(kept.lower, whole.lower);
    EXPECT_EQ(kept.method, whole.method);
    EXPECT_THROW(curve.upper(event.steps + 1), Error);
  }
}

TEST(EpsilonCurve, HoldsForMoreStepsThanAreAskedFor) {
  const EpsilonCurve curve(fixed(3256, 1, 2, 100'000), 1e-4);
  EXPECT_EQ(curve.upper(65), curve.upper(66));  // 7 bits: multiples of 2
  EXPECT_LT(curve.upper(66), curve.upper(67));
  EXPECT_EQ(curve.upper(4097), curve.upper(4224));  // 13 bits: multiples of 128
  EXPECT_LT(curve.upper(4224), curve.upper(4225));
}

TEST(Calibration, FindsTheLeastNoiseThatKeepsTheTarget) {
  const double delta = 1e-5;
  for (const auto& event : {fixed(3256, 32, 0, 1000), poisson(0.01, 0, 500), full(0, 70),
                            poisson(0.9999, 0, 20, Adjacency::replace)})
    for (const double target : {0.1, 3.0}) {
      SCOPED_TRACE(testing::Message() << target);
      auto calibrated = event;
      calibrated.noise_multiplier = calibrate_noise_multiplier(event, target, delta);
      EXPECT_LE(epsilon(calibrated, delta).upper, target);
      calibrated.noise_multiplier *= 1 - 1e-4;
      EXPECT_GT(epsilon(calibrated, delta).upper, target);
    }
}

// What the C library does with the last bits must not decide whether two agents agree.
TEST(Calibration, GivesTwentyBits) {
  for (const auto& event : {fixed(3256, 32, 0, 1000), poisson(0.01, 0, 500), full(0, 70),
                            full(0, 1), fixed(3256, 32, 0, 1)})
    for (const double target : {0.1, 3.0}) {
      const double z = calibrate_noise_multiplier(event, target, 1e-5);
      const double units = std::ldexp(z, 19 - std::ilogb(z));
      EXPECT_EQ(units, std::floor(units)) << z;
    }
}

TEST(Calibration, IsAsGoodForASingleStep) {
  for (const auto& event :
       {fixed(3256, 32, 0, 1), poisson(0.01, 0, 1), poisson(0.3, 0, 1, Adjacency::replace)})
    for (const double target : {0.1, 3.0, 1000.0}) {
      SCOPED_TRACE(testing::Message() << target);
      auto calibrated = event;
      calibrated.noise_multiplier = calibrate_noise_multiplier(event, target, 1e-6);
      EXPECT_LE(epsilon(calibrated, 1e-6).upper, target);
      calibrated.noise_multiplier *= 1 - 1e-4;
      EXPECT_GT(epsilon(calibrated, 1e-6).lower, target);
    }
}

TEST(Calibration, OfThePapersFirstDataSet) {
  // 1.90098 on ever finer grids; a coarser accountant has 1.903.
  const double z = calibrate_noise_multiplier(fixed(3256, 1, 0, 10'000), 0.1, 1e-3);
  EXPECT_GE(z, 1.9009);
  EXPECT_LE(z, 1.9030);
}

// Where the noise is near the largest number, the product of two of them is beyond all.
TEST(Calibration, ReachesTheEndsOfTheNumbersOrRefuses) {
  const double smallest = std::numeric_limits<double>::denorm_min();
  struct Case {
    PrivacyEvent event;
    double delta;
  };
  for (const auto& [event, delta] :
       std::vector<Case>{{poisson(0.999999, 0, 3), smallest},
                         {poisson(1e-18, 0, 3, Adjacency::replace), smallest},
                         {poisson(0.01, 0, 1'000'000'000'000, Adjacency::replace), smallest},
                         {poisson(0.5, 0, 1'000'000'000, Adjacency::replace), 0.5},
                         {poisson(0.999999, 0, 1), 1e-100},
                         {fixed(2, 1, 0, 10), smallest}}) {
    SCOPED_TRACE(testing::Message() << event.steps << " steps, delta " << delta);
    auto calibrated = event;
    calibrated.noise_multiplier = calibrate_noise_multiplier(event, 1e-300, delta);
    EXPECT_TRUE(std::isfinite(calibrated.noise_multiplier));
    EXPECT_LE(epsilon(calibrated, delta).upper, 1e-300);
  }
  EXPECT_THROW(
      calibrate_noise_multiplier(poisson(1e-7, 0, 9'200'000'000'000'000'000), 1e-300, 1e-300),
      Error);
}

TEST(Calibration, RefusesADeltaThatNeedsNoNoise) {
  EXPECT_THROW(calibrate_noise_multiplier(fixed(3256, 1, 0, 3), 0.1, 1e-3), Error);
  EXPECT_THROW(calibrate_noise_multiplier(fixed(3256, 1, 0, 3), 0, 1e-5), Error);
}

}  // namespace
}  // namespace porter
