// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/model/model.hpp"

namespace porter {

/// With rows of `features` numbers taken for images, as near to square as their number allows,
/// where the model takes images.
inline ModelOptions with_image(ModelOptions options, std::size_t features) {
  if (!find_model(options.name).takes_images) return options;
  std::size_t height = 1;
  for (std::size_t side = 1; side * side <= features; ++side)
    if (features % side == 0) height = side;
  options.image = {height, features / height};
  return options;
}

}  // namespace porter
