// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/message.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

namespace porter {

void compress_difference(const Compressor& compressor, std::span<const double> a,
                         std::span<const double> b, RngStream rng, Message& message) {
  assert(a.size() == b.size());
  std::vector<float> difference(a.size());
  for (std::size_t j = 0; j < a.size(); ++j) difference[j] = static_cast<float>(a[j] - b[j]);
  compressor.encode(difference, rng, message.payload);
  compressor.decode(message.payload, a.size(), rng, message.decoded);
}

void add_decoded(double weight, const Message& message, std::span<double> out) {
  add_decoded(weight, message, 0, out);
}

void add_decoded(double weight, const Message& message, std::size_t first, std::span<double> out) {
  const auto& [dense, indices, values] = message.decoded;
  if (dense) {
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += weight * double{values[first + j]};
  } else {
    const auto begin = std::lower_bound(indices.begin(), indices.end(), first);
    for (auto i = static_cast<std::size_t>(begin - indices.begin());
         i < indices.size() && indices[i] - first < out.size(); ++i)
      out[indices[i] - first] += weight * double{values[i]};
  }
}

}  // namespace porter
