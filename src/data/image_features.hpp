// SPDX-License-Identifier: Apache-2.0
// The functions behind ImageTransform. `images` holds one or more images, `features` has room for
// what they become. Only + - * / and square roots in a fixed order: same bits everywhere.
#pragma once

#include <span>

#include "porter/data/image.hpp"

namespace porter {

std::size_t hog_features(const ImageShape& shape);
void make_hog(const ImageShape& shape, std::span<const float> images, std::span<float> features);

/// A row of length 1; a zero row stays.
void to_unit_length(std::span<const double> row, std::span<float> out);

}  // namespace porter
