// SPDX-License-Identifier: Apache-2.0
#include "algo/led_correction.hpp"

#include <algorithm>
#include <cmath>

#include "porter/core/error.hpp"

namespace porter {

void require_symmetric(const MixingMatrix& W) {
  constexpr double kRounding = 1e-9;
  for (std::size_t i = 0; i < W.nodes(); ++i)
    for (const auto& [j, weight] : W.row(i))
      require(std::abs(weight - W(j, i)) <= kRounding, ErrorKind::usage,
              "expected weights that are the same both ways (network.mixing); agents ", i, " and ",
              j, " have ", weight, " and ", W(j, i));
}

double led_correction(const MixingMatrix& W, double most) {
  require_symmetric(W);
  return led_correction(lowest_eigenvalue(W), most);
}

double led_correction(double w, double most) { return std::min(most, (1 + w) / (1 - w)); }

double led_correction(const AlgorithmSetup& setup, double most) {
  const auto& network = setup.neighbours();
  const double stays = led_correction(network.mixing.weights, most);
  return network.changing ? stays / 2 : stays;
}

}  // namespace porter
