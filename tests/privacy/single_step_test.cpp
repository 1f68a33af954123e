// SPDX-License-Identifier: Apache-2.0
// What is certified without a composition, against 60 digits (vectors/single_steps.py) and at
// parameters where arithmetic gives up.
#include <gtest/gtest.h>

#include <cmath>

#include "porter/core/rng.hpp"
#include "porter/privacy/accountant.hpp"
#include "privacy/loss_pair.hpp"
#include "vectors.hpp"

namespace porter {
namespace {

using privacy::delta, privacy::epsilon;

std::vector<VectorRow> single_steps() {
  return read_vectors(source_dir() + "/tests/privacy/vectors/single_steps.csv");
}

// 25 digits, of which the type keeps 19 or more.
long double truth_of(const VectorRow& row) { return std::stold(row.text("delta")); }

PrivacyEvent event_of(const VectorRow& row, Adjacency adjacency) {
  PrivacyEvent event{.sampler = Sampler::poisson, .adjacency = adjacency, .rate = row.number("q")};
  const bool gaussian = row.text("kind") == "gaussian";
  event.noise_multiplier = (gaussian && adjacency == Adjacency::replace ? 2 : 1) / row.number("mu");
  return event;
}

std::string named(const VectorRow& row) {
  return row.text("kind") + " q=" + row.text("q") + " mu=" + row.text("mu") +
         " epsilon=" + row.text("epsilon");
}

TEST(SingleStep, DeltasEncloseSixtyDigits) {
  int rows = 0;
  for (const auto& row : single_steps()) {
    SCOPED_TRACE(named(row));
    const auto& kind = row.text("kind");
    const double q = row.number("q"), mu = row.number("mu"), e = row.number("epsilon");
    const LossPair pair{kind == "replace" ? LossPair::Kind::replace : LossPair::Kind::remove, q,
                        mu};
    const auto bounds = pair.delta(e);
    const long double truth = truth_of(row);
    EXPECT_GE(bounds.above, truth);
    if (kind == "add") continue;  // the opposite direction is never larger
    EXPECT_LE(bounds.below, truth);
    // A delta changes by up to 1e5 times the relative change of a large mu, and for a small one
    // two nearly equal tails are subtracted.
    const long double room = truth * (1e-9L + 1e-13L / mu) + 1e-307L;
    EXPECT_LE(bounds.above, truth + room);
    EXPECT_GE(bounds.below, truth - room);
    ++rows;
  }
  EXPECT_GT(rows, 400);
}

TEST(SingleStep, CertifiedValuesAreNeverBelowTheTruth) {
  for (const auto& row : single_steps()) {
    if (row.text("kind") == "add") continue;
    SCOPED_TRACE(named(row));
    const long double truth = truth_of(row);
    const double e = row.number("epsilon"), q = row.number("q");
    const auto rounded = static_cast<double>(truth);
    const bool gaussian = row.text("kind") == "gaussian", removes = row.text("kind") == "remove";
    for (const auto adjacency : {Adjacency::replace, Adjacency::add_remove}) {
      if (!gaussian && removes != (adjacency == Adjacency::add_remove)) continue;
      const auto event = event_of(row, adjacency);
      const double certified = delta(std::span(&event, 1), e);
      EXPECT_GE(certified, truth);
      EXPECT_LE(certified, truth * (1 + 1e-9L + 1e-13L / row.number("mu")) + 1e-307L);
      // Epsilon falls with delta, so one below the truth has at least this epsilon.
      if (rounded >= 1 || rounded >= q * (1 - 1e-9)) continue;  // flat: any epsilon has this delta
      EXPECT_GE(epsilon(event, std::nextafter(rounded, 0.0)).upper, e);
      EXPECT_LE(epsilon(event, std::nextafter(rounded, 1.0)).lower, e);
    }
  }
}

TEST(SingleStep, SurvivesEpsilonsWhoseExponentialOverflows) {
  const PrivacyEvent event{.sampler = Sampler::poisson,
                           .adjacency = Adjacency::replace,
                           .records = 1000,
                           .batch = 10,
                           .noise_multiplier = 0.01};
  const auto interval = epsilon(event, 1e-5);
  EXPECT_NEAR(interval.upper, 5303.44328157, 1e-6);
  EXPECT_LE(interval.lower, interval.upper);
  EXPECT_NEAR(interval.lower, interval.upper, 1e-6);
  for (const double e : {709.0, 710.0, 1000.0, 4000.0})
    EXPECT_NEAR(delta(std::span(&event, 1), e), 0.01, 1e-12) << e;
}

// Whatever goes in, what comes out is a bound or an Error, never a small number from a NaN: with
// more noise, epsilon must not grow, and a step never costs less than nothing.
TEST(SingleStep, NeverTurnsWhatIsNoNumberIntoASmallOne) {
  RngStream rng(3, Draw::test, 0, 0);
  const auto log_uniform = [&](double low, double high) {
    return std::exp(std::log(low) + (std::log(high) - std::log(low)) * rng.uniform());
  };
  for (int i = 0; i < 3000; ++i) {
    PrivacyEvent event{.sampler = i % 3 == 0 ? Sampler::full : Sampler::poisson,
                       .adjacency = i % 2 == 0 ? Adjacency::replace : Adjacency::add_remove,
                       .rate = log_uniform(1e-300, 1),
                       .noise_multiplier = log_uniform(1e-300, 1e300),
                       .steps = 1};
    if (event.sampler == Sampler::full) event.rate.reset();
    const double d = log_uniform(1e-300, 0.9), q = event.rate.value_or(1);
    SCOPED_TRACE(testing::Message() << "case " << i << " q " << q << " z " << event.noise_multiplier
                                    << " delta " << d);
    const auto interval = epsilon(event, d);
    ASSERT_FALSE(std::isnan(interval.upper) || std::isnan(interval.lower));
    EXPECT_GE(interval.lower, 0);
    EXPECT_LE(interval.lower, interval.upper);
    // mu^2 / 2 is what the loss is about once the record is seen.
    const double mu = (event.adjacency == Adjacency::replace ? 2 : 1) / event.noise_multiplier;
    if (mu > 100 && d < 0.1 * q) {
      EXPECT_GE(interval.upper, std::min(1e300, 0.04 * mu * mu));
    }
    for (const double e : {0.0, 1.0, 800.0, 1e300}) {
      const double value = delta(std::span(&event, 1), e);
      EXPECT_TRUE(value >= 0 && value <= 1) << e;
      if (mu > 2e3 && e <= 800) {
        EXPECT_GE(value, 0.99 * q) << e;
      }
    }
    if (mu > 1e-6 && mu < 1e6) {
      EXPECT_LE(delta(std::span(&event, 1), interval.upper), d * (1 + 1e-6) + 1e-306);
    }
  }
}

}  // namespace
}  // namespace porter
