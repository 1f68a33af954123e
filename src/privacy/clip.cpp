// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/clip.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "privacy/clip_factor.hpp"

namespace porter {

double Clip::factor(double norm) const { return clip_factor(kind, tau, norm); }

void Clip::apply(std::span<double> x) const {
  if (kind == Kind::none) return;
  const double scale = factor(std::sqrt(squared_norm(x)));
  if (scale == 0) {
    std::fill(x.begin(), x.end(), 0.0);  // not x * 0: that keeps NaN
    return;
  }
  for (double& value : x) value *= scale;
}

Clip parse_clip(std::string_view spec) {
  const auto parts = split_spec(spec);
  if (spec == "none") return {};
  require(parts.name == "smooth" || parts.name == "linear", ErrorKind::usage,
          "expected smooth:TAU, linear:TAU or none, found \"", spec, "\"");
  const auto tau = parts.number<double>();
  require(tau && std::isfinite(*tau) && *tau > 0, ErrorKind::usage,
          "expected a positive threshold as in smooth:1.0, found \"", spec, "\"");
  return {parts.name == "smooth" ? Clip::Kind::smooth : Clip::Kind::linear, *tau};
}

std::string to_string(const Clip& clip) {
  if (clip.kind == Clip::Kind::none) return "none";
  return (clip.kind == Clip::Kind::smooth ? "smooth:" : "linear:") + shortest(clip.tau);
}

}  // namespace porter
