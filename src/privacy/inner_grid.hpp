// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loss_grid.hpp"

namespace porter {

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
