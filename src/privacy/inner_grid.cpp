// SPDX-License-Identifier: Apache-2.0
#include "loss_grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "search.hpp"

namespace porter {
namespace {

// StepLoss::curve_error; a test holds the curves to a third of it, against long double.
constexpr double kInnerCurveError = 1e-12, kInnerCurveErrorTimesMu = 1e-13;

// The largest power of three up to k / cells, at least 1: a cell of odd width has a node in its
// middle, beside a narrower one, too.
std::int64_t odd_cell_width(std::int64_t k, int cells) {
  std::int64_t width = 1;
  while (width * 3 <= k / cells) width *= 3;
  return width;
}

// Where f gets positive; f(low) < 0 <= f(high). Regula falsi, halving the value at an end that
// stays.
template <class Function>
double root(const Function& f, double low, double high) {
  double f_low = f(low), f_high = f(high);
  for (int i = 0; i < 60 && f_high > 0; ++i) {
    double middle = (f_high * low - f_low * high) / (f_high - f_low);
    if (!(low < middle && middle < high)) middle = low + (high - low) / 2;
    if (!(low < middle && middle < high)) break;
    const double f_middle = f(middle);
    if (f_middle >= 0)
      high = middle, f_high = f_middle, f_low /= 2;
    else
      low = middle, f_low = f_middle, f_high /= 2;
    if (high - low <= 4 * kRoundoff<double> * (std::abs(low) + std::abs(high))) break;
  }
  return high;
}

// log(P/Q) of masses whose excess is P - Q.
double log_ratio(const LossPair::Masses& m) {
  const double part = m.excess / m.q;
  return part > -0.5 ? std::log1p(part) : std::log(m.p / m.q);
}

// The end of the cell from x0 on whose log(P/Q) is e; nothing where all that follows has less.
std::optional<double> cell_end(const LossPair& pair, double x0, double e) {
  const auto excess = [&](double x) { return pair.masses(x0, x, e).excess; };
  const double middle = pair.inverse_loss(e);
  double reach = std::isfinite(x0) ? 2 * (middle - x0) : 1;
  for (int i = 0; i < 12; ++i, reach *= 2)
    if (excess(middle + reach) >= 0) return root(excess, middle, middle + reach);
  return std::nullopt;
}

}  // namespace

InnerGrid::InnerGrid(const LossPair& pair, const GridSpec& spec) : pair_(pair), step_(spec.step) {
  const auto [lowest, highest] = LossGrid::range(pair, spec.tail);
  const bool mirrored = pair.kind == LossPair::Kind::replace;
  // Most of a pair that is its own mirror image may lie about 0, else about the lowest loss.
  const double cut = mirrored                ? pair.inverse_loss(step_ / 2)
                     : lowest >= -kLargeLoss ? first_cut(LossGrid::least(pair, spec.tail))
                                             : first_cut(pair.inverse_loss(-kLargeLoss));
  const auto first = pair.masses(mirrored ? -cut : -kInfinity, cut, 0);
  if (!(first.p > 0 && first.q > 0)) return;
  offset_ = mirrored ? 0 : log_ratio(first);
  if (!std::isfinite(offset_)) return;
  cells_.push_back({0, first.p, first.q});
  const double end = add_cells(cut, std::min(highest, kLargeLoss), spec.cells_per_octave);
  round_down(end, highest, spec.cells_per_octave);
  if (mirrored) add_mirror_image();
}

void InnerGrid::add_mirror_image() {
  const auto upper = cells_;
  for (const auto& [k, p, q] : upper)
    if (k > 0) cells_.push_back({-k, q, p});
  std::sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) { return a.k < b.k; });
}

// The end of the lowest cell: half a step above its log(P/Q), so that all cells begin and end
// half-way between nodes; or else `least`, below which there is next to nothing.
double InnerGrid::first_cut(double least) const {
  const auto above_mean = [&](double x) {
    const auto m = pair_.masses(-kInfinity, x, 0);
    return pair_.loss(x) - log_ratio(m) - step_ / 2;
  };
  if (!(above_mean(least) < 0)) return least;
  double most = pair_.inverse_loss(pair_.loss(least) + step_);
  for (int i = 0; i < 12 && above_mean(most) < 0; ++i) most += most - least;
  return above_mean(most) < 0 ? least : root(above_mean, least, most);
}

// From `cut` up; returns where the last cell ends. Nodes that are not well above a cut are left
// out: rounding decides about very narrow cells.
double InnerGrid::add_cells(double cut, double highest, int cells_per_octave) {
  // Counted from the bottom, around which losses are dense, or from 0, whichever is nearer.
  const auto zero = static_cast<std::int64_t>(std::lround(-offset_ / step_));
  const auto width_at = [&](std::int64_t k) {
    return odd_cell_width(std::min(std::abs(k), std::abs(k - zero)), cells_per_octave);
  };
  for (std::int64_t k = 1;;) {
    const double e = offset_ + static_cast<double>(k) * step_;
    if (e > highest) return cut;
    if (e > pair_.loss(cut) + step_ / 16) {
      const auto end = cell_end(pair_, cut, e);
      if (!end) return cut;
      const auto m = pair_.masses(cut, *end, e);
      if (!(m.p > 0 && m.q > 0)) return cut;
      off_ = std::max(off_, 2 * std::abs(m.excess) / m.p);
      cells_.push_back({k, m.p, m.q});
      cut = *end;
    }
    const auto width = width_at(k);
    k += (width + width_at(k + width)) / 2;
  }
}

// What is left above `cut`. The opposite direction goes without it: there it is next to nothing.
void InnerGrid::round_down(double cut, double highest, int cells_per_octave) {
  for (auto k = cells_.back().k; std::isfinite(cut);) {
    const auto next = k + odd_cell_width(k, cells_per_octave);
    const double end = offset_ + static_cast<double>(next) * step_;
    const double x = end < highest ? pair_.inverse_loss(end) : kInfinity;
    if (x > cut) {
      cells_.push_back({k, pair_.masses(cut, x, 0).p, 0});
      cut = x;
    }
    k = next;
  }
}

StepLoss InnerGrid::finished(StepLoss loss) const {
  loss.curve_error = kInnerCurveError + kInnerCurveErrorTimesMu / pair_.mu;
  loss.position_error = off_;
  return loss;
}

StepLoss InnerGrid::forward() const {
  StepLoss loss{.step = step_, .nodes = {}, .offset = offset_};
  for (const auto& cell : cells_) loss.nodes.push_back({cell.k, cell.p});
  return finished(std::move(loss));
}

StepLoss InnerGrid::reverse() const {
  if (pair_.kind == LossPair::Kind::replace || pair_.q == 1) return forward();
  StepLoss loss{.step = step_, .nodes = {}, .offset = -offset_};
  for (auto cell = cells_.rbegin(); cell != cells_.rend(); ++cell)
    loss.nodes.push_back({-cell->k, cell->q});
  return finished(std::move(loss));
}

}  // namespace porter
