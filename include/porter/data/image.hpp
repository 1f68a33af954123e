// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "porter/core/choice.hpp"
#include "porter/data/dataset.hpp"

namespace porter {

/// The extents of images of one channel, whose pixels are the features, row by row from the top.
struct ImageShape {
  std::size_t height = 0, width = 0;

  std::size_t pixels() const { return height * width; }
  explicit operator bool() const { return pixels() > 0; }
  bool operator==(const ImageShape&) const = default;
};
/// "28x28", height first. Error{usage} unless both are whole numbers from 1 to kMaxImageSide.
ImageShape parse_image_shape(std::string_view text);
std::string to_string(const ImageShape& shape);
inline constexpr std::size_t kMaxImageSide = 4096;

/// What an image is mapped to before anything is learned from it (docs/data.md has the formulas).
enum class TransformKind {
  none,
  hog,         ///< in 7 x 7 cells how much of the gradient points into each of 8 directions
  scattering,  ///< every 4 pixels: the image smoothed, its edges of 2 sizes and 8 directions, and
               ///< the edges among these
  hog_centred  ///< hog less each cell's mean
};
template <>
struct Choices<TransformKind> {
  static constexpr Choice<TransformKind> table[] = {{"none", TransformKind::none},
                                                    {"hog", TransformKind::hog},
                                                    {"hog-centred", TransformKind::hog_centred},
                                                    {"scattering", TransformKind::scattering}};
};

/// A fixed function of one record, so it tells nothing of others and costs no budget.
struct ImageTransform {
  TransformKind kind = TransformKind::none;
  ImageShape image = {};

  explicit operator bool() const { return kind != TransformKind::none; }
  bool operator==(const ImageTransform&) const = default;
  /// Error{usage} where there is a transform but no shape, or images are too small for it.
  void check() const;
  /// How many there are for each image.
  std::size_t features() const;
  /// Every row becomes the features of its image, finite where the pixels are. Error{usage} unless
  /// rows have as many features as the image has pixels.
  void apply(Dataset& data) const;
};
/// "hog of 28x28", or "none".
std::string to_string(const ImageTransform& transform);

}  // namespace porter
