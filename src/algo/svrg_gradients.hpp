// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "team.hpp"

namespace porter {

/// The snapshot-corrected gradients of SoteriaFL-SVRG at the common point x, w the snapshot:
///
///   G_i = (1/b) sum_z [clip(grad l(x; z)) - clip(grad l(w; z))] + F_i + N(0, sigma^2 I),
///   F_i = (1/m) sum over all of the agent's samples of clip(grad l(w; z))
///
/// w becomes x in the first round and then with the probability `snapshot` in each, by a public
/// coin. Replacing a record moves the first part by up to 4 tau / b if it is drawn, and F_i by up
/// to 2 tau / m in every round: the accountant charges both.
class SvrgGradients {
 public:
  explicit SvrgGradients(const AlgorithmSetup& setup);

  void estimate(const Rows& x, std::uint32_t round, Rows& G);
  void append_state(std::vector<NamedRows>& state);

 private:
  bool take_snapshot(std::uint32_t round) const;
  void sum_all_samples(std::size_t agent);

  Problem problem_;
  Team team_;
  Clip clip_;
  std::uint64_t seed_;
  double snapshot_;
  GradientEstimator gradients_;
  Rows w_, F_, scratch_;
};

}  // namespace porter
