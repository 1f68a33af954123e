// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

namespace porter {

/// x to the right, y downwards; a digit stands in the unit square.
struct StrokePoint {
  float x, y;
};

/// A line through the points: smooth (a Catmull-Rom spline) or with corners.
struct Stroke {
  bool smooth;
  std::vector<StrokePoint> points;
};

using Glyph = std::vector<Stroke>;

/// The ways in which each digit is written.
const std::array<std::vector<Glyph>, 10>& digit_glyphs();

/// The stroke as a chain of short straight pieces.
std::vector<StrokePoint> flatten(const Stroke& stroke);

}  // namespace porter
