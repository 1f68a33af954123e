// SPDX-License-Identifier: Apache-2.0
// Histograms of gradients (Dalal and Triggs, 2005): where in the image strokes run, and which way.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "core/vector_math.hpp"
#include "image_features.hpp"

namespace porter {
namespace {

constexpr std::size_t kCells = 7, kDirections = 8;  // cells along each side

/// The two cells that a pixel lies between along a side, and how much it counts for each: nothing
/// where there is no such cell.
struct CellShares {
  std::size_t cells[2];
  double shares[2];
};

std::vector<CellShares> cell_shares(std::size_t side) {
  std::vector<CellShares> all(side);
  for (std::size_t i = 0; i < side; ++i) {
    // Centres of cells are at 0, 1, ..., 6; the pixel lies between `upper - 1` and `upper`.
    const double place = (static_cast<double>(i) + 0.5) * kCells / static_cast<double>(side) - 0.5;
    const auto upper = static_cast<std::size_t>(place + 1);
    const double share = place + 1 - static_cast<double>(upper);
    all[i] = {{upper == 0 ? 0 : upper - 1, std::min(upper, kCells - 1)},
              {upper == 0 ? 0 : 1 - share, upper == kCells ? 0 : share}};
  }
  return all;
}

/// A gradient as the sum of its parts along the two neighbouring directions of the eight.
struct Parts {
  std::size_t straight, diagonal;
  double straight_length, diagonal_length;
};

Parts parts_of(double dx, double dy) {
  const double across = std::abs(dx), down = std::abs(dy);
  const std::size_t straight = across >= down ? (dx >= 0 ? 0 : 4) : (dy >= 0 ? 2 : 6);
  const std::size_t diagonal = dx >= 0 ? (dy >= 0 ? 1 : 7) : (dy >= 0 ? 3 : 5);
  return {straight, diagonal, std::abs(across - down),
          std::numbers::sqrt2 * std::min(across, down)};
}

using Histograms = std::array<double, kCells * kCells * kDirections>;

// Takes from every cell its mean over the directions: how much ink there is, which images have in
// common and on which a clipped gradient would spend itself.
void centre(Histograms& row) {
  for (std::size_t first = 0; first < row.size(); first += kDirections) {
    const auto cell = std::span(row).subspan(first, kDirections);
    double sum = 0;
    for (const double value : cell) sum += value;
    for (double& value : cell) value -= sum / double{kDirections};
  }
}

class Hog final : public ImageMap {
 public:
  Hog(const ImageShape& shape, bool centred)
      : shape_(shape),
        centred_(centred),
        rows_(cell_shares(shape.height)),
        columns_(cell_shares(shape.width)) {}

  void apply(std::span<const float> images, std::span<float> features) const override {
    const auto pixels = shape_.pixels();
    for (std::size_t i = 0; i < images.size() / pixels; ++i) {
      auto row = histograms(images.subspan(i * pixels, pixels));
      for (double& value : row) value = std::sqrt(value);
      normalise(row, features.subspan(i * row.size(), row.size()));
    }
  }

 private:
  // What centring leaves of a row that had nothing else may be rounding: it stays small.
  void normalise(Histograms& row, std::span<float> out) const {
    if (!centred_) return to_unit_length(row, out);
    constexpr double kNothing = 1e-3;
    const double floor = kNothing * std::sqrt(squared_norm(row));
    centre(row);
    to_unit_length(row, out, floor);
  }

  Histograms histograms(std::span<const float> image) const {
    Histograms sums{};
    const auto pixel = [&](std::size_t y, std::size_t x) {
      return double{image[y * shape_.width + x]};
    };
    for (std::size_t y = 0; y < shape_.height; ++y) {
      const auto above = y == 0 ? 0 : y - 1, below = std::min(y + 1, shape_.height - 1);
      for (std::size_t x = 0; x < shape_.width; ++x) {
        const auto left = x == 0 ? 0 : x - 1, right = std::min(x + 1, shape_.width - 1);
        const double dx = pixel(y, right) - pixel(y, left), dy = pixel(below, x) - pixel(above, x);
        if (dx != 0 || dy != 0) add(parts_of(dx, dy), rows_[y], columns_[x], sums);
      }
    }
    return sums;
  }

  static void add(const Parts& parts, const CellShares& row, const CellShares& column,
                  Histograms& sums) {
    for (const int i : {0, 1})
      for (const int j : {0, 1}) {
        double* cell = &sums[(row.cells[i] * kCells + column.cells[j]) * kDirections];
        const double share = row.shares[i] * column.shares[j];
        cell[parts.straight] += share * parts.straight_length;
        cell[parts.diagonal] += share * parts.diagonal_length;
      }
  }

  ImageShape shape_;
  bool centred_;
  std::vector<CellShares> rows_, columns_;
};

}  // namespace

std::size_t hog_features(const ImageShape&) { return Histograms{}.size(); }

std::unique_ptr<const ImageMap> make_hog(const ImageShape& shape) {
  return std::make_unique<Hog>(shape, false);
}

std::unique_ptr<const ImageMap> make_hog_centred(const ImageShape& shape) {
  return std::make_unique<Hog>(shape, true);
}

}  // namespace porter
