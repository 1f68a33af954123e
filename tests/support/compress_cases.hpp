// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "porter/compress/compressor.hpp"

namespace porter {

/// The stream of round `round` in the tests of compressors.
inline RngStream compress_stream(std::uint32_t round) {
  return RngStream(17, Draw::compress_v, 3, round);
}

inline Payload encode(const Compressor& c, std::span<const float> x, std::uint32_t round = 0) {
  Payload payload;
  c.encode(x, compress_stream(round), payload);
  return payload;
}

inline Decoded decode(const Compressor& c, std::span<const std::byte> payload, std::size_t dim,
                      std::uint32_t round = 0) {
  Decoded out;
  c.decode(payload, dim, compress_stream(round), out);
  return out;
}

inline Decoded round_trip(const Compressor& c, std::span<const float> x, std::uint32_t round = 0) {
  return decode(c, encode(c, x, round), x.size(), round);
}

inline std::vector<float> to_dense(const Decoded& decoded, std::size_t dim) {
  if (decoded.dense) return decoded.values;
  std::vector<float> x(dim, 0.0F);
  for (std::size_t i = 0; i < decoded.indices.size(); ++i)
    x.at(decoded.indices[i]) = decoded.values[i];
  return x;
}

/// C(x) as all of its d entries.
inline std::vector<float> compress(const Compressor& c, std::span<const float> x,
                                   std::uint32_t round = 0) {
  return to_dense(round_trip(c, x, round), x.size());
}

/// A payload with this body and the checksum that belongs to it.
inline Payload with_checksum(Payload body) {
  put(body, crc32(body));
  return body;
}

inline Payload bytes(std::initializer_list<int> values) {
  Payload result(values.size());
  std::ranges::transform(values, result.begin(), [](int value) { return std::byte(value); });
  return result;
}

inline std::vector<float> gaussian_vector(std::size_t dim, double scale = 1) {
  RngStream rng(1, Draw::test, 0, 0);
  std::vector<float> x(dim);
  for (auto& value : x) value = static_cast<float>(scale * rng.normal());
  return x;
}

inline double squared_norm(std::span<const float> x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum;
}

inline double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double(a[i]) - double(b[i]), 2);
  return sum;
}

}  // namespace porter
