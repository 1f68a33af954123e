// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "porter/data/image.hpp"

namespace porter {

/// Copies of an image that a round takes the gradient at, in place of the image: each is moved by
/// up to `pixels` along either side, what comes in from outside being the pixel at the border, and
/// with `flips` mirrored left to right with probability 1/2. Their mean gradient is clipped, so a
/// record has the sensitivity of one gradient (De et al.: Unlocking High-Accuracy Differentially
/// Private Image Classification through Scale, 2022).
struct Augmentation {
  std::size_t pixels = 0;
  std::size_t copies = 0;  ///< 0: the image itself
  bool flips = false;

  explicit operator bool() const { return copies > 0; }
  bool operator==(const Augmentation&) const = default;
};
/// "shift:PIXELSxCOPIES", "shift-flip:PIXELSxCOPIES" or "none". Error{usage} otherwise.
Augmentation parse_augmentation(std::string_view text);
std::string to_string(const Augmentation& augmentation);

/// Where a copy lies: its pixel (y, x) is that at (y + down, x + right).
struct ImageMove {
  int down = 0, right = 0;
  bool flipped = false;
};
/// The moves of a record's copies in a round, from the public stream of its agent: a record's place
/// there depends on its own number only, so that the copies of one tell nothing of others.
void draw_moves(const Augmentation& augmentation, std::uint64_t seed, std::uint32_t agent,
                std::uint32_t round, std::uint32_t record, std::span<ImageMove> moves);

void move_image(const ImageShape& shape, std::span<const float> image, const ImageMove& move,
                std::span<float> out);

}  // namespace porter
