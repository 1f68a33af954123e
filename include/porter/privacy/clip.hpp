// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "porter/core/choice.hpp"

namespace porter {

/// A clipping operator (Definition 2 of the paper and the remark after it):
///   smooth:TAU   x tau / (tau + |x|)
///   linear:TAU   x min(1, tau / |x|)
///   none         x
struct Clip {
  enum class Kind { none, smooth, linear };
  Kind kind = Kind::none;
  double tau = 0;

  bool none() const { return kind == Kind::none; }

  /// What a vector of this computed norm is multiplied by. The product is never longer than tau,
  /// rounding included; a norm that is not finite gives 0, so that one broken sample contributes
  /// nothing.
  double factor(double norm) const;

  /// Clips in place.
  void apply(std::span<double> x) const;
};

/// From "smooth:1.0", "linear:0.5" or "none"; Error{usage} otherwise.
Clip parse_clip(std::string_view spec);
std::string to_string(const Clip& clip);

enum class ClipTarget {
  sample,  ///< clip each sample's gradient, then average: what a privacy guarantee needs
  batch,   ///< average, then clip: what porter-gc does; not private
};
template <>
struct Choices<ClipTarget> {
  static constexpr Choice<ClipTarget> table[] = {{"sample", ClipTarget::sample},
                                                 {"batch", ClipTarget::batch}};
};

}  // namespace porter
