// SPDX-License-Identifier: Apache-2.0
// The rounding of a single step's masses, against the hockey-stick curve in long double.
#include "privacy/loss_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace porter {
namespace {

using Real = long double;

Real normal_tail(Real x) { return std::erfc(x / std::numbers::sqrt2_v<Real>) / 2; }

// delta_G(e; mu)
Real gaussian_curve(Real e, Real mu) {
  if (e < 0) return -std::expm1(e) + std::exp(e) * gaussian_curve(-e, mu);
  return normal_tail(e / mu - mu / 2) - std::exp(e) * normal_tail(e / mu + mu / 2);
}

// (1-q) N(0,1) + q N(mu,1) against N(0,1).
Real remove_curve(Real e, Real q, Real mu) {
  const Real inside = std::expm1(e) / q;
  return inside <= -1 ? -std::expm1(e) : q * gaussian_curve(std::log1p(inside), mu);
}

// The curve of the opposite direction; for e < 0, as the sum cancels for e > 0.
Real mirrored(Real e, Real curve_at_minus_e) {
  return -std::expm1(e) + std::exp(e) * curve_at_minus_e;
}

// N(0,1) against (1-q) N(0,1) + q N(mu,1): the largest Q(X < x) - exp(e) P(X < x) over all x, so a
// rounded x is off in the second order only.
Real add_curve(Real e, const LossPair& pair) {
  const Real q = pair.q, mu = pair.mu, x = pair.inverse_loss(static_cast<double>(-e));
  if (pair.q == 1) return gaussian_curve(e, mu);
  if (e < 0) return mirrored(e, remove_curve(-e, q, mu));
  const Real centre = normal_tail(-x), up = normal_tail(mu - x);
  return std::max<Real>(0, std::exp(e) * q * (centre - up) - std::expm1(e) * centre);
}

// (1-q) N(0,1) + q N(mu,1) against (1-q) N(0,1) + q N(-mu,1): the largest
// P(X > x) - exp(e) Q(X > x) over all x.
Real replace_curve(Real e, const LossPair& pair) {
  if (e < 0) return mirrored(e, replace_curve(-e, pair));
  const Real q = pair.q, mu = pair.mu, x = pair.inverse_loss(static_cast<double>(e));
  const Real centre = normal_tail(x), up = normal_tail(x - mu), down = normal_tail(x + mu);
  return q * (up - down) - std::expm1(e) * ((1 - q) * centre + q * down);
}

// The largest relative amount by which the curve of the masses is below `exact` at a grid point,
// after the shift that is allowed, as a part of what is allowed;
// between grid points it is a chord of a convex curve.
template <class Curve>
Real largest_shortfall(const StepLoss& loss, const Curve& exact) {
  Real largest = 0, delta = loss.infinite, above = 0;  // above: sum of mass exp(-(loss - e))
  Real e = 0;
  for (std::size_t i = loss.nodes.size(); i-- > 0;) {
    const auto& [k, mass] = loss.nodes[i];
    const Real here = static_cast<Real>(loss.step) * static_cast<Real>(k);
    if (i + 1 < loss.nodes.size()) {
      delta += -std::expm1(here - e) * above;
      above *= std::exp(here - e);
      if (here != e)
        largest = std::max(largest, exact(here + static_cast<Real>(loss.loss_error())) / delta - 1);
    }
    above += static_cast<Real>(mass);
    e = here;
  }
  return largest / static_cast<Real>(loss.curve_error);
}

// The largest relative amount by which the curve of masses from inside is above `exact`, as a part
// of what is allowed. The curve is convex and `exact` is, too, so it is compared between nodes as
// well.
template <class Curve>
Real largest_excess(const StepLoss& loss, const Curve& exact) {
  Real largest = 0, delta = 0, above = 0, e = 0;
  for (std::size_t i = loss.nodes.size(); i-- > 0;) {
    const auto& [k, mass] = loss.nodes[i];
    const Real here =
        static_cast<Real>(loss.offset) + static_cast<Real>(loss.step) * static_cast<Real>(k);
    if (i + 1 < loss.nodes.size() && here != e) {
      for (const Real part : {Real{1} / 4, Real{1} / 2, Real{3} / 4, Real{1}}) {
        const Real at = e + part * (here - e), curve = delta - std::expm1(at - e) * above;
        if (curve > 1e-290L)
          largest = std::max(largest, curve / exact(at - static_cast<Real>(loss.loss_error())) - 1);
      }
      delta += -std::expm1(here - e) * above;
      above *= std::exp(here - e);
    }
    above += static_cast<Real>(mass);
    e = here;
  }
  return largest / static_cast<Real>(loss.curve_error);
}

TEST(InnerGrid, CurveExceedsTheTruthByAThirdOfTheAllowanceAtMost) {
  for (const double q : {1.0 / 6000, 1e-2, 0.3, 0.99, 1.0})
    for (const double mu : {2e-3, 0.02, 0.3, 1.0, 3.0, 7.8, 20.0})
      for (const double cells : {0.5, 12.0, 200.0})
        for (const double tail : {1e-10, 1e-16}) {
          SCOPED_TRACE(testing::Message()
                       << "q " << q << " mu " << mu << " cells " << cells << " tail " << tail);
          const double scale = std::min(mu, q * std::sqrt(std::expm1(mu * mu)));
          const GridSpec grid{.step = scale / cells, .cells_per_octave = 64, .tail = tail};
          const LossPair remove{LossPair::Kind::remove, q, mu};
          const LossPair replace{LossPair::Kind::replace, q, mu};
          const InnerGrid removed(remove, grid), replaced(replace, grid);
          const auto forward = [&](Real e) { return remove_curve(e, q, mu); };
          const auto reverse = [&](Real e) { return add_curve(e, remove); };
          const auto other = [&](Real e) { return replace_curve(e, replace); };
          constexpr Real kRoom = Real{1} / 3;
          EXPECT_LE(largest_excess(removed.forward(), forward), kRoom);
          EXPECT_LE(largest_excess(removed.reverse(), reverse), kRoom);
          EXPECT_LE(largest_excess(replaced.forward(), other), kRoom);
          double sum = 0;
          for (const auto& node : removed.forward().nodes) sum += node.mass;
          EXPECT_NEAR(sum, 1, 1e-9);
        }
}

TEST(LossGrid, CurveFallsShortOfTheTruthByAThirdOfTheAllowanceAtMost) {
  for (const double q : {1.0 / 6000, 1.0 / 3256, 1e-2, 0.3, 0.99, 1.0})
    for (const double mu : {2e-5, 2e-3, 0.02, 0.3, 1.0, 3.0, 7.8, 20.0})
      for (const double cells : {12.0, 200.0, 3000.0})
        for (const double tail : {1e-10, 1e-16}) {
          SCOPED_TRACE(testing::Message()
                       << "q " << q << " mu " << mu << " cells " << cells << " tail " << tail);
          const double scale = std::min(mu, q * std::sqrt(std::expm1(mu * mu)));
          const GridSpec grid{.step = scale / cells, .cells_per_octave = 64, .tail = tail};
          const LossPair remove{LossPair::Kind::remove, q, mu};
          const LossPair replace{LossPair::Kind::replace, q, mu};
          const LossGrid removed(remove, grid), replaced(replace, grid);
          const auto forward = [&](Real e) { return remove_curve(e, q, mu); };
          const auto reverse = [&](Real e) { return add_curve(e, remove); };
          const auto both = [&](Real e) { return e < 0 ? mirrored(e, forward(-e)) : forward(e); };
          const auto other = [&](Real e) { return replace_curve(e, replace); };
          constexpr Real kRoom = Real{1} / 3;
          EXPECT_LE(largest_shortfall(removed.forward(), forward), kRoom);
          EXPECT_LE(largest_shortfall(removed.reverse(), reverse), kRoom);
          EXPECT_LE(largest_shortfall(removed.symmetrised(), both), kRoom);
          EXPECT_LE(largest_shortfall(replaced.forward(), other), kRoom);
        }
}

}  // namespace
}  // namespace porter
