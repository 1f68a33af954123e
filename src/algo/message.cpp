// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/message.hpp"

#include <cassert>

namespace porter {

void compress_difference(const Compressor& compressor, std::span<const double> a,
                         std::span<const double> b, RngStream rng, Message& message) {
  compressor.encode_difference(a, b, rng, message.payload, message.decoded);
}

void add_decoded(double weight, const Message& message, std::span<double> out) {
  const auto& decoded = message.decoded;
  if (decoded.dense) return add_decoded(weight, message, 0, out);
  const auto* value = decoded.values.data();
  for (const auto i : decoded.indices) out[i] += weight * double{*value++};
}

void add_decoded(double weight, const Message& message, std::size_t first, std::span<double> out) {
  const auto& decoded = message.decoded;
  if (decoded.dense) {
    const auto* values = decoded.values.data() + first;
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += weight * double{values[j]};
    return;
  }
  assert(first % kTileSize == 0);
  const auto tiles = (out.size() + kTileSize - 1) / kTileSize;
  const std::size_t end = decoded.tile_starts[first / kTileSize + tiles];
  for (std::size_t i = decoded.tile_starts[first / kTileSize]; i < end; ++i)
    out[decoded.indices[i] - first] += weight * double{decoded.values[i]};
}

}  // namespace porter
