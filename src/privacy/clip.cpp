// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/clip.hpp"

#include <algorithm>
#include <cmath>

#include "core/text.hpp"
#include "core/vector_math.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

// The computed norm of d numbers is off by at most about d / 2 units of rounding, which stays below
// this for d up to 1e6. Beyond, a clipped vector may be longer than tau by what is left; the
// sensitivity of the secure noise has it.
constexpr double kNormSlack = 1e-10;

}  // namespace

double Clip::factor(double norm) const {
  if (kind == Kind::none) return 1;
  if (!std::isfinite(norm)) return 0;
  const double bound = norm * (1 + kNormSlack);  // no shorter than the true norm
  if (kind == Kind::smooth) return tau / (tau + bound);
  return bound <= tau ? 1 : tau / bound;
}

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
