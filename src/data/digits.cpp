// SPDX-License-Identifier: Apache-2.0
// Digits drawn by a pen: a way of writing the digit is bent by a smooth random field, slanted,
// turned, stretched and shifted, then drawn with a pen of random width and softness.
#include <algorithm>
#include <array>
#include <cmath>

#include "glyphs.hpp"
#include "porter/core/rng.hpp"
#include "sources.hpp"

namespace porter {
namespace {

constexpr std::uint64_t kSeed = 0x646967697473;
constexpr std::size_t kSide = 28, kPixels = kSide * kSide;
constexpr float kCentre = 0.5F * (kSide - 1);
constexpr std::size_t kBlock = 256;  // images per piece of work

float uniform(RngStream& rng, float low, float high) {
  return low + (high - low) * static_cast<float>(rng.uniform());
}
float normal(RngStream& rng, float stddev) { return stddev * static_cast<float>(rng.normal()); }

// A displacement of the unit square: random at the nodes of a grid, linear in between. Strokes that
// touch are bent alike, so they go on touching.
class Bend {
 public:
  Bend(RngStream& rng, float stddev) {
    for (auto& node : nodes_) node = {normal(rng, stddev), normal(rng, stddev)};
  }
  StrokePoint operator()(const StrokePoint& p) const {
    const float x = std::clamp(p.x, 0.0F, 1.0F) * kCells, y = std::clamp(p.y, 0.0F, 1.0F) * kCells;
    const auto i = std::min(static_cast<std::size_t>(x), kCells - 1);
    const auto j = std::min(static_cast<std::size_t>(y), kCells - 1);
    const float u = x - static_cast<float>(i), v = y - static_cast<float>(j);
    const auto mix = [&](float StrokePoint::*axis) {
      const float top = (1 - u) * node(i, j).*axis + u * node(i + 1, j).*axis;
      const float bottom = (1 - u) * node(i, j + 1).*axis + u * node(i + 1, j + 1).*axis;
      return (1 - v) * top + v * bottom;
    };
    return {p.x + mix(&StrokePoint::x), p.y + mix(&StrokePoint::y)};
  }

 private:
  static constexpr std::size_t kCells = 3;
  const StrokePoint& node(std::size_t i, std::size_t j) const {
    return nodes_[j * (kCells + 1) + i];
  }
  std::array<StrokePoint, (kCells + 1) * (kCells + 1)> nodes_;
};

// From the unit square to pixels.
class Placement {
 public:
  explicit Placement(RngStream& rng) {
    const float width = 18 * uniform(rng, 0.65F, 1.05F), height = 20 * uniform(rng, 0.8F, 1.05F);
    const float slant = 0.1F + normal(rng, 0.24F);
    const float sin = std::clamp(normal(rng, 0.15F), -0.5F, 0.5F), cos = std::sqrt(1 - sin * sin);
    xx_ = cos * width;
    xy_ = -height * (cos * slant + sin);
    yx_ = sin * width;
    yy_ = height * (cos - sin * slant);
    x_ = kCentre + normal(rng, 1.0F);
    y_ = kCentre + normal(rng, 1.0F);
  }
  StrokePoint operator()(const StrokePoint& p) const {
    const float u = p.x - 0.5F, v = p.y - 0.5F;
    return {x_ + xx_ * u + xy_ * v, y_ + yx_ * u + yy_ * v};
  }

 private:
  float xx_, xy_, yx_, yy_, x_, y_;
};

using SquaredDistances = std::array<float, kPixels>;

float squared_distance_to_piece(StrokePoint p, const StrokePoint& a, const StrokePoint& b) {
  const float dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const float along = (p.x - a.x) * dx + (p.y - a.y) * dy;
  const float t = length > 0 ? std::clamp(along / length, 0.0F, 1.0F) : 0.0F;
  const float ex = p.x - a.x - t * dx, ey = p.y - a.y - t * dy;
  return ex * ex + ey * ey;
}

// Lowers the distances of the pixels within `reach` of the piece from a to b.
void approach(SquaredDistances& distances, const StrokePoint& a, const StrokePoint& b,
              float reach) {
  constexpr float kLast = kSide - 1;
  const auto first = [&](float low) {
    return static_cast<std::size_t>(std::clamp(low - reach, 0.0F, kLast));
  };
  const auto last = [&](float high) {
    return static_cast<std::size_t>(std::clamp(high + reach + 1, 0.0F, kLast));
  };
  const auto x0 = first(std::min(a.x, b.x)), x1 = last(std::max(a.x, b.x));
  const auto y0 = first(std::min(a.y, b.y)), y1 = last(std::max(a.y, b.y));
  for (auto y = y0; y <= y1; ++y)
    for (auto x = x0; x <= x1; ++x) {
      auto& nearest = distances[y * kSide + x];
      nearest = std::min(
          nearest, squared_distance_to_piece({static_cast<float>(x), static_cast<float>(y)}, a, b));
    }
}

void draw_digit(std::size_t digit, RngStream& rng, char* pixels) {
  const auto& ways = digit_glyphs()[digit];
  const auto& glyph = ways[rng.below(ways.size())];
  const Bend bend(rng, 0.075F);
  const Placement place(rng);
  const float radius = uniform(rng, 0.5F, 1.3F), softness = uniform(rng, 0.8F, 1.8F);
  const float ink = uniform(rng, 0.8F, 1.1F), reach = radius + softness;

  SquaredDistances distances;
  distances.fill(reach * reach);
  for (const auto& stroke : glyph) {
    auto points = flatten(stroke);
    for (auto& point : points) point = place(bend(point));
    for (std::size_t i = 0; i + 1 < points.size(); ++i)
      approach(distances, points[i], points[i + 1], reach);
  }
  for (std::size_t i = 0; i < kPixels; ++i) {
    const float cover = std::clamp((reach - std::sqrt(distances[i])) / softness, 0.0F, 1.0F);
    // Paper stays white; ink is uneven.
    const float value = cover > 0 ? cover * ink + normal(rng, 0.08F) : 0.0F;
    pixels[i] = static_cast<char>(std::lround(std::clamp(value, 0.0F, 1.0F) * 255.0F));
  }
}

}  // namespace

Digits draw_digits(std::size_t first, std::size_t count, ThreadPool& pool) {
  Digits digits{.labels = std::string(count, '\0'), .pixels = std::string(count * kPixels, '\0')};
  pool.parallel_for((count + kBlock - 1) / kBlock, [&](std::size_t block) {
    const auto end = std::min(count, (block + 1) * kBlock);
    for (auto i = block * kBlock; i < end; ++i) {
      RngStream rng(kSeed, Draw::data, 0, static_cast<std::uint32_t>(first + i));
      const auto digit = rng.below(10);
      digits.labels[i] = static_cast<char>(digit);
      draw_digit(digit, rng, digits.pixels.data() + i * kPixels);
    }
  });
  return digits;
}

}  // namespace porter
