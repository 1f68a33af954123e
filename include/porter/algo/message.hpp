// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "porter/compress/compressor.hpp"

namespace porter {

/// A compressed vector: the bytes that travel, and what everyone decodes from them.
struct Message {
  Payload payload;
  Decoded decoded;
};

/// message <- C(a - b), the difference rounded to float. The sender, too, works with the decoded
/// bytes.
void compress_difference(const Compressor& compressor, std::span<const double> a,
                         std::span<const double> b, RngStream rng, Message& message);

/// out += weight C(...)
void add_decoded(double weight, const Message& message, std::span<double> out);
/// The same for a part of the vector, `out`, whose first entry is number `first` of the whole:
/// `first` is a multiple of kTileSize, and `out` is a whole number of tiles or ends with the
/// vector.
void add_decoded(double weight, const Message& message, std::size_t first, std::span<double> out);

}  // namespace porter
