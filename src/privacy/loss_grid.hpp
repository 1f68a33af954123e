// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "loss_pair.hpp"

namespace porter {

/// The privacy loss of one step on the grid {k h}: masses of P, and what was sent to +infinity.
struct StepLoss {
  struct Node {
    std::int64_t k;
    double mass;
  };
  double step = 0;          ///< h
  std::vector<Node> nodes;  ///< k ascending
  double infinite = 0;
  double offset = 0;  ///< nodes lie at offset + k h; 0 but for lower bounds

  /// What rounding did to the hockey-stick curve of these masses: the truth is at most
  ///   delta(e) <= (1 + curve_error) (the curve at e - loss_error),   for every e.
  double curve_error = 0;
  double position_error = 0;  ///< how far nodes are from where they should be
  /// That, and a few units of rounding of the largest loss: nodes lie at k h after rounding.
  double loss_error() const;
};

/// How a step is discretised. Cells are h wide near 0 and about |loss| / cells_per_octave far
/// away, so a few thousand nodes span any range.
struct GridSpec {
  double step = 0;  ///< h
  int cells_per_octave = 128;
  double tail = 0;  ///< what may go to +infinity, at most
};

/// A discretised pair. Connect-the-dots (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi: Connect the
/// Dots: Tighter Discrete Approximations of Privacy Loss Distributions, 2022): the mass of each
/// cell goes to its two ends such that the masses of both P and Q are kept. The hockey-stick curve
/// of the result is the chord, linear in exp(e), of the true convex one: it dominates the pair
/// and is exact at the grid points.
class LossGrid {
 public:
  /// The losses between which all but spec.tail of either distribution lies.
  struct Range {
    double lowest, highest;
  };
  static Range range(const LossPair& pair, double tail);
  static double least(const LossPair& pair, double tail);  ///< the x with the lowest of them
  /// Whether a grid can hold the losses: they are finite numbers, and at most 2^52 steps away.
  static bool fits(const LossPair& pair, const GridSpec& spec);

  /// spec must fit.
  LossGrid(const LossPair& pair, const GridSpec& spec);

  StepLoss forward() const;  ///< P against Q
  StepLoss reverse() const;  ///< Q against P

  /// The pair that is its own mirror image and has the curve of P against Q for e >= 0 and
  /// 1 - exp(e) + exp(e) delta(-e) for e < 0; what is left forms an atom at 0 (Zhu, Dong, Wang:
  /// Optimal Accounting of Differential Privacy via Characteristic Function, 2022).
  StepLoss symmetrised() const;

 private:
  struct Cell {
    std::int64_t k;
    double p, q;  // masses at the node k
  };
  void add_cell(std::int64_t k0, std::int64_t k1);
  void merge_cells();
  StepLoss finished(StepLoss loss) const;

  LossPair pair_;
  double step_;
  std::vector<Cell> cells_;
  std::int64_t k_min_ = 0, k_max_ = 0;
  double p_below_ = 0, q_below_ = 0, p_above_ = 0, q_above_ = 0;  // outside [k_min, k_max]
};

/// A pair discretised from inside, for lower bounds. The line is cut into cells, and who sees only
/// the cell sees less: P and Q of the cells are dominated by the pair (data processing). The cuts
/// are chosen such that log(P/Q) of each cell lies on a grid {offset + k h}, and so the error is of
/// the second order, as it is from outside. What lies far above is rounded down.
///
/// StepLoss::curve_error and loss_error() bound the other side here: for every e,
///   delta(e) >= (1 - curve_error) (the curve at e + loss_error).
class InnerGrid {
 public:
  /// spec must fit the pair (LossGrid::fits).
  InnerGrid(const LossPair& pair, const GridSpec& spec);

  StepLoss forward() const;  ///< P against Q
  StepLoss reverse() const;  ///< Q against P

 private:
  struct Cell {
    std::int64_t k;
    double p, q;
  };
  double first_cut(double least) const;
  double add_cells(double cut, double highest, int cells_per_octave);
  void round_down(double cut, double highest, int cells_per_octave);
  void add_mirror_image();
  StepLoss finished(StepLoss loss) const;

  LossPair pair_;
  double step_, offset_ = 0;
  std::vector<Cell> cells_;  // k ascending
  double off_ = 0;           // how far log(P/Q) of a cell may be from its node
};

}  // namespace porter
