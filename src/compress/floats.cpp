// SPDX-License-Identifier: Apache-2.0
#include "floats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "porter/core/error.hpp"

namespace porter {

float to_float(double value) {
  require(std::abs(value) <= std::numeric_limits<float>::max(), ErrorKind::numeric,
          "the compressed value ", value, " does not fit a float");
  return static_cast<float>(value);
}

std::size_t first_not_finite(std::span<const float> x) {
  // Finite floats are those whose bits, without the sign, are below those of infinity. The maximum
  // has no branch, so the usual case runs in vectors.
  std::uint32_t largest = 0;
  for (const float value : x)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFF);
  if (largest < 0x7F800000) return x.size();
  return static_cast<std::size_t>(
      std::find_if_not(x.begin(), x.end(), [](float value) { return std::isfinite(value); }) -
      x.begin());
}

void put_floats(std::span<const float> x, Payload& payload) {
  const auto bytes = std::as_bytes(x);
  payload.insert(payload.end(), bytes.begin(), bytes.end());
}

void put_entries(std::span<const float> x, std::span<const std::uint32_t> indices, double scale,
                 Payload& payload) {
  payload.reserve(payload.size() + indices.size() * sizeof(float) + sizeof(std::uint32_t));
  for (const auto i : indices) put(payload, to_float(scale * x[i]));
}

void get_floats(ByteReader& body, std::size_t count, std::vector<float>& out) {
  const auto bytes = body.take(count * sizeof(float));
  out.resize(count);
  std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(out)).begin());
  const auto bad = first_not_finite(out);
  require(bad == count, ErrorKind::protocol, "value ", bad, " of ", count,
          " in a compressed vector is not finite");
}

float get_scale(ByteReader& body) {
  const auto scale = body.get<float>();
  require(std::isfinite(scale) && !std::signbit(scale), ErrorKind::protocol,
          "the scale of a compressed vector is ", scale, ", expected a finite number >= 0");
  return scale;
}

}  // namespace porter
