// SPDX-License-Identifier: Apache-2.0
// Digits drawn by a pen: a way of writing the digit is bent by a smooth random field, slanted,
// turned, stretched and shifted, then drawn with a pen of random width and softness.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "porter/core/rng.hpp"
#include "sources.hpp"
#include "table_cache.hpp"

namespace porter {
namespace {

constexpr std::uint64_t kDigitsSeed = 0x646967697473;
constexpr std::size_t kSide = 28, kPixels = kSide * kSide;
constexpr float kCentre = 0.5F * (kSide - 1);
constexpr std::size_t kBlock = 256;  // images per piece of work

// x to the right, y downwards; a digit stands in the unit square.
struct StrokePoint {
  float x, y;
};

// A line through the points: smooth (a Catmull-Rom spline) or with corners.
struct Stroke {
  bool smooth;
  std::vector<StrokePoint> points;
};

using Glyph = std::vector<Stroke>;

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
  text.imbue(std::locale::classic());
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

// The stroke as a chain of short straight pieces.
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

// The ways in which each digit is written.
const std::array<std::vector<Glyph>, 10>& digit_glyphs() {
  static const auto glyphs = [] {
    std::array<std::vector<Glyph>, 10> ways;
    for (const auto& [digit, strokes] : kWays) ways[digit].push_back(read_glyph(strokes));
    return ways;
  }();
  return glyphs;
}

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
      RngStream rng(kDigitsSeed, Draw::data, 0, static_cast<std::uint32_t>(first + i));
      const auto digit = rng.below(10);
      digits.labels[i] = static_cast<char>(digit);
      draw_digit(digit, rng, digits.pixels.data() + i * kPixels);
    }
  });
  return digits;
}

FileTable digit_table(const std::optional<std::filesystem::path>& cache, std::size_t first,
                      std::size_t count) {
  // Raise it when the drawing changes: older copies are then drawn anew.
  constexpr int kDrawing = 1;
  const auto draw = [&] {
    ThreadPool pool;
    const auto digits = draw_digits(first, count, pool);
    return table_of_images("", digits.pixels, kPixels, digits.labels);
  };
  const auto key = concat("digits ", kDrawing, ' ', first, ' ', count, '\n');
  return keep_table(
             cache, concat("synthetic-digits-", first), [&] { return key; }, draw)
      .table;
}

TablePair digit_tables(const std::optional<std::filesystem::path>& cache) {
  const auto& known = known_data("synthetic-digits");
  TablePair tables{.train = digit_table(cache, 0, known.train_rows),
                   .test = digit_table(cache, known.train_rows, known.test_rows),
                   .source = "synthetic-digits (" + known.what + ")"};
  tables.train.name = "synthetic-digits training set";
  tables.test->name = "synthetic-digits test set";
  return tables;
}

}  // namespace porter
