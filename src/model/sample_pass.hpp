// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "layers.hpp"
#include "porter/data/dataset.hpp"
#include "slots.hpp"

namespace porter {

/// One sample through the layers, in double at an x of either type: every parameter is read once,
/// every entry of the gradient written once. The slots keep the memory.
template <class Real>
class SamplePass {
 public:
  /// Computes the scores.
  SamplePass(const Layers& layers, std::span<const Real> x, const Sample& sample, Slots& slots);

  std::span<double> scores() { return level(layers_.size()); }

  /// Overwrites `gradient` by that of the data term, with delta_L in the place of the scores, and
  /// returns its squared norm.
  double backward(std::span<double> gradient);
  /// The same in factors. The sample is not sparse.
  double backward(OuterProducts& gradient);

 private:
  // a_l, and after the backward step delta_l.
  std::span<double> level(std::size_t l) {
    return slots_.take(l, l == 0 ? layers_.list[0].inputs : layers_.list[l - 1].outputs);
  }
  /// write(l) from the last layer to the first, while its inputs and delta_l are there.
  template <class Write>
  void for_each_layer(const Write& write);
  double write_layer(std::size_t l, std::span<double> gradient);

  const Layers& layers_;
  std::span<const Real> x_;
  const Sample& sample_;
  Slots& slots_;
};

}  // namespace porter
