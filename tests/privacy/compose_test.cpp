// SPDX-License-Identifier: Apache-2.0
// The composition against answers that were found in another way.
#include "privacy/compose.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "porter/privacy/accountant.hpp"
#include "privacy/gaussian_mechanism.hpp"
#include "privacy/loss_grid.hpp"

namespace porter {
namespace {

using privacy::delta, privacy::epsilon;

LossPhase gaussian_phase(double mu, std::uint64_t steps, double delta) {
  const GridSpec grid{
      .step = mu / 24, .cells_per_octave = 128, .tail = 1e-6 * delta / static_cast<double>(steps)};
  return {LossGrid({LossPair::Kind::remove, 1, mu}, grid).forward(), steps};
}

// The numeric way, forced upon Gaussian steps, whose answer is known exactly.
TEST(Compose, NeverFallsBelowTheGaussianTruthAndStaysClose) {
  for (const double total : {0.02, 0.5, 3.0, 20.0})
    for (const std::uint64_t steps : {1, 2, 10, 1000, 100'000})
      for (const double delta : {0.3, 1e-3, 1e-6, 1e-12, 1e-40}) {
        SCOPED_TRACE(testing::Message()
                     << "mu " << total << " steps " << steps << " delta " << delta);
        const auto phase =
            gaussian_phase(total / std::sqrt(static_cast<double>(steps)), steps, delta);
        const double truth = gaussian_epsilon(delta, total).above;
        const auto found = composed_epsilon(std::span(&phase, 1), delta);
        ASSERT_TRUE(found);
        EXPECT_GE(*found, truth);
        // Cells add (h/s)^2 / 6 = 2.9e-4 to the variance; those of large losses, 20^2 / 2 in one
        // step, are coarser. Where epsilon is small beside mu, mu counts.
        EXPECT_LE(*found, truth + 3e-3 * std::max(truth, total));
      }
}

TEST(Compose, FromBelowNeverExceedsTheGaussianTruthAndStaysClose) {
  for (const double total : {0.02, 0.5, 3.0, 20.0})
    for (const std::uint64_t steps : {2, 10, 1000, 100'000})
      for (const double delta : {0.3, 1e-3, 1e-6, 1e-12}) {
        SCOPED_TRACE(testing::Message()
                     << "mu " << total << " steps " << steps << " delta " << delta);
        const double mu = total / std::sqrt(static_cast<double>(steps));
        const GridSpec grid{.step = mu / 24,
                            .cells_per_octave = 128,
                            .tail = 1e-6 * delta / static_cast<double>(steps)};
        const LossPhase phase{InnerGrid({LossPair::Kind::remove, 1, mu}, grid).forward(), steps};
        const double truth = gaussian_epsilon(delta, total).below;
        const double found = composed_epsilon_below(std::span(&phase, 1), delta);
        EXPECT_LE(found, truth);
        EXPECT_GE(found, truth - 3e-3 * std::max(truth, total));
      }
}

TEST(Compose, DeltaNeverFallsBelowTheGaussianTruthAndStaysClose) {
  for (const double total : {0.05, 1.0, 10.0})
    for (const std::uint64_t steps : {1, 50, 10'000})
      for (const double deviations : {0.0, 1.0, 4.0, 8.0}) {
        const double e = total * total / 2 + deviations * total;
        SCOPED_TRACE(testing::Message()
                     << "mu " << total << " steps " << steps << " epsilon " << e);
        const auto phase =
            gaussian_phase(total / std::sqrt(static_cast<double>(steps)), steps, 1e-20);
        const double truth = gaussian_delta(e, total);
        const auto found = composed_delta(std::span(&phase, 1), e);
        ASSERT_TRUE(found);
        EXPECT_GE(*found, truth);
        EXPECT_LE(*found, 1.03 * truth);  // d log(delta) / d log(sigma) reaches 8^2 here
      }
}

TEST(Compose, RefusesGridsThatAreTooFine) {
  const GridSpec grid{.step = 1e-9, .cells_per_octave = 64, .tail = 1e-12};
  const LossPhase phase{LossGrid({LossPair::Kind::remove, 1, 1}, grid).forward(), 100};
  EXPECT_FALSE(composed_epsilon(std::span(&phase, 1), 1e-5));
}

// A slow reference that shares nothing with the above: the hockey-stick curve of one step as the
// formulas give it, masses as second differences of the curve, convolution by the double sum.
using Curve = std::function<double(double)>;

double plain_gaussian(double e, double mu) {
  return std::erfc((e / mu - mu / 2) / std::sqrt(2.0)) / 2 -
         std::exp(e) * std::erfc((e / mu + mu / 2) / std::sqrt(2.0)) / 2;
}

Curve fixed_curve(double g, double mu) {
  return [=](double e) {
    const auto side = [=](double x) {
      return g * plain_gaussian(std::log(1 + (std::exp(x) - 1) / g), mu);
    };
    return e >= 0 ? side(e) : 1 - std::exp(e) + std::exp(e) * side(-e);
  };
}

Curve poisson_curve(double q, double mu) {
  return [=](double e) {
    const double inside = 1 + (std::exp(e) - 1) / q;
    return inside <= 0 ? 1 - std::exp(e) : q * plain_gaussian(std::log(inside), mu);
  };
}

struct Masses {
  long first = 0;
  std::vector<double> p;
};

// Connect-the-dots: a chord of slope c in y = exp(e) means Q(L > e) = -c.
Masses masses_of(const Curve& curve, double h, long reach) {
  Masses masses{-reach, {}};
  double slope = -1;  // Q of everything
  for (long k = -reach; k <= reach; ++k) {
    const auto at = [&](long i) { return curve(h * static_cast<double>(i)); };
    const double y = std::exp(h * static_cast<double>(k));
    const double next = k == reach ? 0 : (at(k + 1) - at(k)) / (y * std::expm1(h));
    masses.p.push_back(y * (next - slope));
    slope = next;
  }
  return masses;
}

Masses convolve(const Masses& a, const Masses& b) {
  Masses sum{a.first + b.first, std::vector<double>(a.p.size() + b.p.size() - 1)};
  for (std::size_t i = 0; i < a.p.size(); ++i)
    for (std::size_t j = 0; j < b.p.size(); ++j) sum.p[i + j] += a.p[i] * b.p[j];
  return sum;
}

double slow_delta(const std::vector<Curve>& steps, double e, double h, long reach) {
  Masses sum{0, {1}};
  for (const auto& step : steps) sum = convolve(sum, masses_of(step, h, reach));
  double delta = 0;
  for (std::size_t i = 0; i < sum.p.size(); ++i) {
    const double loss = h * static_cast<double>(sum.first + static_cast<long>(i));
    if (loss > e) delta += sum.p[i] * (1 - std::exp(e - loss));
  }
  return delta;
}

// Both grids are fine enough for 1e-3 of epsilon; at these epsilons that is about 1 % of delta.
constexpr double kSlowTolerance = 1e-2;

TEST(Compose, AgreesWithDirectConvolutionForFixedSizeBatches) {
  for (const std::uint64_t steps : {2, 5}) {
    const PrivacyEvent event{.sampler = Sampler::fixed,
                             .records = 10,
                             .batch = 1,
                             .noise_multiplier = 2,
                             .steps = steps};
    for (const double e : {0.0, 0.3, 1.0, 2.0}) {
      const std::vector<Curve> curves(steps, fixed_curve(0.1, 1));
      const double slow = slow_delta(curves, e, 0.01, 700);
      EXPECT_NEAR(delta(std::span(&event, 1), e), slow, kSlowTolerance * slow)
          << steps << " steps, epsilon " << e;
    }
  }
}

TEST(Compose, AgreesWithDirectConvolutionForUnlikePhases) {
  const PrivacyEvent events[] = {{.sampler = Sampler::poisson,
                                  .adjacency = Adjacency::add_remove,
                                  .rate = 0.2,
                                  .noise_multiplier = 1,
                                  .steps = 2},
                                 {.sampler = Sampler::full,
                                  .adjacency = Adjacency::add_remove,
                                  .noise_multiplier = 2.5,
                                  .steps = 1}};
  const std::vector<Curve> curves = {poisson_curve(0.2, 1), poisson_curve(0.2, 1),
                                     poisson_curve(1, 0.4)};
  for (const double e : {0.1, 0.7, 1.5}) {
    const double slow = slow_delta(curves, e, 0.01, 700);  // the larger direction at these
    EXPECT_NEAR(delta(events, e), slow, kSlowTolerance * slow) << e;
  }
}

}  // namespace
}  // namespace porter
