// SPDX-License-Identifier: Apache-2.0
#include "glyphs.hpp"

#include <algorithm>
#include <cstddef>

namespace porter {
namespace {

constexpr int kPieces = 5;  // per span of a spline

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
  constexpr bool kSmooth = true, kCorners = false;
  static const std::array<std::vector<Glyph>, 10> glyphs = {{
      // 0: round, narrow, and with the pen's start and end apart
      {{{kSmooth,
         {{.5F, 0},
          {.28F, .07F},
          {.15F, .3F},
          {.14F, .6F},
          {.28F, .92F},
          {.5F, 1},
          {.72F, .92F},
          {.86F, .65F},
          {.85F, .32F},
          {.72F, .07F},
          {.5F, 0}}}},
       {{kSmooth,
         {{.52F, 0},
          {.36F, .1F},
          {.28F, .35F},
          {.28F, .65F},
          {.36F, .92F},
          {.5F, 1},
          {.64F, .9F},
          {.72F, .62F},
          {.72F, .35F},
          {.65F, .1F},
          {.52F, 0}}}},
       {{kSmooth,
         {{.6F, .06F},
          {.4F, .03F},
          {.2F, .25F},
          {.14F, .6F},
          {.3F, .95F},
          {.55F, .97F},
          {.8F, .7F},
          {.84F, .35F},
          {.7F, .1F},
          {.48F, .08F}}}}},
      // 1: a bar, with a flag, with a flag and a foot
      {{{kCorners, {{.5F, 0}, {.5F, 1}}}},
       {{kCorners, {{.3F, .22F}, {.54F, 0}, {.52F, 1}}}},
       {{kCorners, {{.3F, .2F}, {.52F, 0}, {.52F, 1}}}, {kCorners, {{.28F, 1}, {.76F, 1}}}}},
      // 2: with a corner at the foot, with a loop there
      {{{kSmooth,
         {{.18F, .25F},
          {.28F, .06F},
          {.5F, 0},
          {.74F, .07F},
          {.81F, .27F},
          {.72F, .48F},
          {.46F, .74F},
          {.18F, .98F}}},
        {kCorners, {{.18F, .98F}, {.86F, .96F}}}},
       {{kSmooth,
         {{.2F, .2F},
          {.36F, .03F},
          {.6F, .01F},
          {.78F, .16F},
          {.74F, .42F},
          {.55F, .7F},
          {.32F, .94F},
          {.14F, .93F},
          {.2F, .79F},
          {.42F, .84F},
          {.64F, .98F},
          {.9F, .9F}}}}},
      // 3: two bows, with a flat top
      {{{kSmooth, {{.2F, .13F}, {.42F, 0}, {.7F, .06F}, {.77F, .24F}, {.66F, .42F}, {.42F, .48F}}},
        {kSmooth, {{.42F, .48F}, {.7F, .53F}, {.83F, .74F}, {.7F, .95F}, {.42F, 1}, {.16F, .88F}}}},
       {{kCorners, {{.2F, .03F}, {.78F, .03F}, {.44F, .4F}}},
        {kSmooth, {{.44F, .4F}, {.72F, .46F}, {.84F, .7F}, {.7F, .93F}, {.42F, 1}, {.16F, .88F}}}}},
      // 4: open, closed, open with a bow
      {{{kCorners, {{.26F, 0}, {.14F, .56F}, {.86F, .56F}}}, {kCorners, {{.7F, .18F}, {.66F, 1}}}},
       {{kCorners, {{.66F, 1}, {.66F, 0}, {.12F, .66F}, {.9F, .66F}}}},
       {{kSmooth, {{.22F, .02F}, {.15F, .3F}, {.22F, .52F}, {.45F, .57F}, {.75F, .48F}}},
        {kCorners, {{.78F, 0}, {.7F, 1}}}}},
      // 5: with corners, in one sweep
      {{{kCorners, {{.8F, .02F}, {.3F, .02F}, {.24F, .45F}}},
        {kSmooth,
         {{.24F, .45F},
          {.5F, .37F},
          {.76F, .48F},
          {.83F, .7F},
          {.7F, .93F},
          {.42F, 1},
          {.16F, .9F}}}},
       {{kSmooth,
         {{.78F, .02F},
          {.5F, .04F},
          {.32F, .12F},
          {.28F, .36F},
          {.5F, .45F},
          {.72F, .58F},
          {.74F, .82F},
          {.52F, .98F},
          {.22F, .94F}}}}},
      // 6: with a bow, with a straight back
      {{{kSmooth,
         {{.7F, .02F},
          {.42F, .16F},
          {.24F, .42F},
          {.18F, .7F},
          {.3F, .94F},
          {.52F, 1},
          {.74F, .92F},
          {.8F, .72F},
          {.68F, .54F},
          {.46F, .52F},
          {.26F, .64F},
          {.2F, .76F}}}},
       {{kSmooth,
         {{.52F, 0},
          {.34F, .35F},
          {.22F, .7F},
          {.3F, .94F},
          {.5F, 1},
          {.68F, .9F},
          {.7F, .72F},
          {.56F, .6F},
          {.36F, .66F},
          {.24F, .8F}}}}},
      // 7: plain, with a bar, with a bow
      {{{kCorners, {{.15F, .04F}, {.84F, .04F}, {.4F, 1}}}},
       {{kCorners, {{.15F, .05F}, {.84F, .03F}, {.42F, 1}}},
        {kCorners, {{.34F, .52F}, {.82F, .5F}}}},
       {{kCorners, {{.16F, .16F}, {.18F, .05F}, {.82F, .05F}}},
        {kSmooth, {{.82F, .05F}, {.62F, .36F}, {.48F, .68F}, {.44F, 1}}}}},
      // 8: two rings, one sweep
      {{{kSmooth,
         {{.5F, .47F},
          {.28F, .36F},
          {.26F, .14F},
          {.5F, 0},
          {.74F, .14F},
          {.72F, .36F},
          {.5F, .47F},
          {.25F, .6F},
          {.18F, .82F},
          {.5F, 1},
          {.82F, .82F},
          {.75F, .6F},
          {.5F, .47F}}}},
       {{kSmooth,
         {{.76F, .12F},
          {.52F, 0},
          {.28F, .14F},
          {.36F, .36F},
          {.6F, .54F},
          {.76F, .76F},
          {.64F, .96F},
          {.4F, .98F},
          {.24F, .8F},
          {.36F, .58F},
          {.62F, .38F},
          {.78F, .14F}}}}},
      // 9: with a straight tail, with a bow
      {{{kSmooth,
         {{.77F, .26F},
          {.68F, .06F},
          {.46F, 0},
          {.24F, .1F},
          {.18F, .3F},
          {.3F, .48F},
          {.52F, .5F},
          {.72F, .38F},
          {.78F, .2F}}},
        {kCorners, {{.78F, .2F}, {.68F, 1}}}},
       {{kSmooth,
         {{.78F, .24F},
          {.68F, .06F},
          {.46F, 0},
          {.25F, .1F},
          {.2F, .3F},
          {.32F, .46F},
          {.54F, .46F},
          {.76F, .3F},
          {.8F, .2F},
          {.8F, .6F},
          {.66F, .9F},
          {.4F, 1},
          {.2F, .92F}}}}},
  }};
  return glyphs;
}

}  // namespace porter
