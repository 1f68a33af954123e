// SPDX-License-Identifier: Apache-2.0
#include "glyphs.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>

namespace porter {
namespace {

constexpr int kPieces = 5;  // per span of a spline

// Strokes, each with its points in hundredths: ~ smooth, / with corners.
struct Way {
  std::size_t digit;
  const char* strokes;
};
constexpr Way kWays[] = {
    // 0: round, narrow, and with the pen's start and end apart
    {0, "~ 50,0 28,7 15,30 14,60 28,92 50,100 72,92 86,65 85,32 72,7 50,0"},
    {0, "~ 52,0 36,10 28,35 28,65 36,92 50,100 64,90 72,62 72,35 65,10 52,0"},
    {0, "~ 60,6 40,3 20,25 14,60 30,95 55,97 80,70 84,35 70,10 48,8"},
    // 1: a bar, with a flag, with a flag and a foot
    {1, "/ 50,0 50,100"},
    {1, "/ 30,22 54,0 52,100"},
    {1, "/ 30,20 52,0 52,100 / 28,100 76,100"},
    // 2: with a corner at the foot, with a loop there
    {2, "~ 18,25 28,6 50,0 74,7 81,27 72,48 46,74 18,98 / 18,98 86,96"},
    {2, "~ 20,20 36,3 60,1 78,16 74,42 55,70 32,94 14,93 20,79 42,84 64,98 90,90"},
    // 3: two bows, with a flat top
    {3, "~ 20,13 42,0 70,6 77,24 66,42 42,48 ~ 42,48 70,53 83,74 70,95 42,100 16,88"},
    {3, "/ 20,3 78,3 44,40 ~ 44,40 72,46 84,70 70,93 42,100 16,88"},
    // 4: open, closed, open with a bow
    {4, "/ 26,0 14,56 86,56 / 70,18 66,100"},
    {4, "/ 66,100 66,0 12,66 90,66"},
    {4, "~ 22,2 15,30 22,52 45,57 75,48 / 78,0 70,100"},
    // 5: with corners, in one sweep
    {5, "/ 80,2 30,2 24,45 ~ 24,45 50,37 76,48 83,70 70,93 42,100 16,90"},
    {5, "~ 78,2 50,4 32,12 28,36 50,45 72,58 74,82 52,98 22,94"},
    // 6: with a bow, with a straight back
    {6, "~ 70,2 42,16 24,42 18,70 30,94 52,100 74,92 80,72 68,54 46,52 26,64 20,76"},
    {6, "~ 52,0 34,35 22,70 30,94 50,100 68,90 70,72 56,60 36,66 24,80"},
    // 7: plain, with a bar, with a bow
    {7, "/ 15,4 84,4 40,100"},
    {7, "/ 15,5 84,3 42,100 / 34,52 82,50"},
    {7, "/ 16,16 18,5 82,5 ~ 82,5 62,36 48,68 44,100"},
    // 8: two rings, one sweep
    {8, "~ 50,47 28,36 26,14 50,0 74,14 72,36 50,47 25,60 18,82 50,100 82,82 75,60 50,47"},
    {8, "~ 76,12 52,0 28,14 36,36 60,54 76,76 64,96 40,98 24,80 36,58 62,38 78,14"},
    // 9: with a straight tail, with a bow
    {9, "~ 77,26 68,6 46,0 24,10 18,30 30,48 52,50 72,38 78,20 / 78,20 68,100"},
    {9, "~ 78,24 68,6 46,0 25,10 20,30 32,46 54,46 76,30 80,20 80,60 66,90 40,100 20,92"},
};

Glyph read_glyph(const char* strokes) {
  Glyph glyph;
  std::istringstream text(strokes);
  for (char pen, comma; text >> pen; text.clear()) {
    auto& points = glyph.emplace_back(Stroke{pen == '~', {}}).points;
    for (float x, y; text >> x >> comma >> y;) points.push_back({x / 100, y / 100});
  }
  return glyph;
}

StrokePoint spline(const StrokePoint& before, const StrokePoint& from, const StrokePoint& to,
                   const StrokePoint& after, float t) {
  const auto along = [t](float a, float b, float c, float d) {
    return b + 0.5F * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  };
  return {along(before.x, from.x, to.x, after.x), along(before.y, from.y, to.y, after.y)};
}

}  // namespace

std::vector<StrokePoint> flatten(const Stroke& stroke) {
  if (!stroke.smooth) return stroke.points;
  const auto& p = stroke.points;
  std::vector<StrokePoint> out = {p.front()};
  for (std::size_t i = 0; i + 1 < p.size(); ++i)
    for (int piece = 1; piece <= kPieces; ++piece)
      out.push_back(spline(p[i == 0 ? 0 : i - 1], p[i], p[i + 1], p[std::min(i + 2, p.size() - 1)],
                           static_cast<float>(piece) / kPieces));
  return out;
}

const std::array<std::vector<Glyph>, 10>& digit_glyphs() {
  static const auto glyphs = [] {
    std::array<std::vector<Glyph>, 10> ways;
    for (const auto& [digit, strokes] : kWays) ways[digit].push_back(read_glyph(strokes));
    return ways;
  }();
  return glyphs;
}

}  // namespace porter
