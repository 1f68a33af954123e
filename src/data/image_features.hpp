// SPDX-License-Identifier: Apache-2.0
// The functions behind ImageTransform. Only + - * / and square roots in a fixed order, and our own
// exponentials: same bits everywhere.
#pragma once

#include <memory>
#include <span>

#include "porter/data/image.hpp"

namespace porter {

/// Made for images of one shape; immutable, so threads share it.
class ImageMap {
 public:
  virtual ~ImageMap() = default;
  /// `images` holds one or more images, `features` has room for what they become.
  virtual void apply(std::span<const float> images, std::span<float> features) const = 0;
};

std::size_t hog_features(const ImageShape& shape);
std::unique_ptr<const ImageMap> make_hog(const ImageShape& shape);
std::unique_ptr<const ImageMap> make_hog_centred(const ImageShape& shape);

std::size_t scattering_features(const ImageShape& shape);
std::unique_ptr<const ImageMap> make_scattering(const ImageShape& shape);

/// A row divided by its length and `floor`: of length 1 without one; a zero row stays.
void to_unit_length(std::span<const double> row, std::span<float> out, double floor = 0);

}  // namespace porter
