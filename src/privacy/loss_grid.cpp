// SPDX-License-Identifier: Apache-2.0
#include "loss_grid.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace porter {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// StepLoss::curve_error. A cell's excess P - exp(e0) Q is a difference of masses that are equal up
// to a part mu, and these are differences of erfc (5 units in the last place in glibc). Against
// long double the curves are short by at most 4e-15 / mu; a test holds them to a third of this.
constexpr double kCurveError = 1e-13, kCurveErrorTimesMu = 2e-14;

// The largest power of two up to k / cells, at least 1.
std::int64_t cell_width(std::int64_t k, int cells) {
  const auto ratio = static_cast<std::uint64_t>(k) / static_cast<std::uint64_t>(cells);
  return static_cast<std::int64_t>(std::bit_floor(std::max<std::uint64_t>(1, ratio)));
}

// Phi(-reach) <= tail / 2.
double reach_of(double tail) { return std::sqrt(2 * std::log(1 / tail)); }

double position(std::int64_t k, double step) { return static_cast<double>(k) * step; }

}  // namespace

double StepLoss::loss_error() const {
  if (nodes.empty()) return 0;
  const auto farthest = std::max(std::abs(nodes.front().k), std::abs(nodes.back().k));
  return position_error + 8 * (kEpsilon / 2) * (position(farthest, step) + std::abs(offset));
}

double LossGrid::least(const LossPair& pair, double tail) {
  return -reach_of(tail) - (pair.kind == LossPair::Kind::replace ? pair.mu : 0);
}

LossGrid::Range LossGrid::range(const LossPair& pair, double tail) {
  return {pair.loss(least(pair, tail)), pair.loss(pair.mu + reach_of(tail))};
}

bool LossGrid::fits(const LossPair& pair, const GridSpec& spec) {
  const auto [lowest, highest] = range(pair, spec.tail);
  constexpr double kMaxSteps = 0x1p52;
  return spec.tail > 0 && spec.step >= std::numeric_limits<double>::min() &&
         -lowest <= kMaxSteps * spec.step && highest <= kMaxSteps * spec.step;
}

LossGrid::LossGrid(const LossPair& pair, const GridSpec& spec) : pair_(pair), step_(spec.step) {
  const auto [lowest, highest] = range(pair, spec.tail);
  while (position(k_max_, step_) < highest) {
    const auto next = k_max_ + cell_width(k_max_, spec.cells_per_octave);
    add_cell(k_max_, next);
    k_max_ = next;
  }
  while (position(k_min_, step_) > lowest) {
    const auto next = k_min_ - cell_width(-k_min_, spec.cells_per_octave);
    add_cell(next, k_min_);
    k_min_ = next;
  }
  merge_cells();
  const double top = position(k_max_, step_), bottom = position(k_min_, step_);
  const auto above = pair.masses(pair.inverse_loss(top), kInfinity, top);
  p_above_ = above.p, q_above_ = above.q;
  const auto below = pair.masses(-kInfinity, pair.inverse_loss(bottom), bottom);
  p_below_ = below.p, q_below_ = below.q;
}

void LossGrid::add_cell(std::int64_t k0, std::int64_t k1) {
  const double e0 = position(k0, step_), e1 = position(k1, step_);
  const auto m = pair_.masses(pair_.inverse_loss(e0), pair_.inverse_loss(e1), e0);
  // left + right = P,  left exp(-e0) + right exp(-e1) = Q.
  // Where exp() nears overflow the whole cell is rounded up to its right end.
  const double split = e0 > kLargeLoss ? m.p : m.excess / -std::expm1(e0 - e1);
  const double right = std::clamp(split, 0.0, m.p), left = m.p - right;
  cells_.push_back({k0, left, left * std::exp(-e0)});
  cells_.push_back({k1, right, right * std::exp(-e1)});
}

// Neighbouring cells share a node.
void LossGrid::merge_cells() {
  std::sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) { return a.k < b.k; });
  std::vector<Cell> merged;
  for (const auto& cell : cells_) {
    if (merged.empty() || merged.back().k != cell.k) merged.push_back({cell.k, 0, 0});
    merged.back().p += cell.p, merged.back().q += cell.q;
  }
  cells_ = std::move(merged);
}

StepLoss LossGrid::finished(StepLoss loss) const {
  std::sort(loss.nodes.begin(), loss.nodes.end(),
            [](const auto& a, const auto& b) { return a.k < b.k; });
  loss.curve_error = kCurveError + kCurveErrorTimesMu / pair_.mu;
  return loss;
}

StepLoss LossGrid::forward() const {
  StepLoss loss{.step = step_, .nodes = {}, .infinite = p_above_};
  for (const auto& cell : cells_) loss.nodes.push_back({cell.k, cell.p});
  loss.nodes.push_back({k_min_, p_below_});  // rounded up
  return finished(std::move(loss));
}

StepLoss LossGrid::reverse() const {
  if (pair_.kind == LossPair::Kind::replace || pair_.q == 1) return forward();
  StepLoss loss{.step = step_, .nodes = {}, .infinite = q_below_};
  for (const auto& cell : cells_) loss.nodes.push_back({-cell.k, cell.q});
  loss.nodes.push_back({-k_max_, q_above_});
  return finished(std::move(loss));
}

StepLoss LossGrid::symmetrised() const {
  StepLoss loss{.step = step_, .nodes = {}, .infinite = p_above_};
  double placed = p_above_ + q_above_;
  loss.nodes.push_back({-k_max_, q_above_});
  for (const auto& cell : cells_)
    if (cell.k > 0) {
      loss.nodes.push_back({cell.k, cell.p});
      loss.nodes.push_back({-cell.k, cell.q});
      placed += cell.p + cell.q;
    }
  loss.nodes.push_back({0, std::max(0.0, 1 - placed)});
  return finished(std::move(loss));
}

}  // namespace porter
