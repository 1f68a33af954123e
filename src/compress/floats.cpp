// SPDX-License-Identifier: Apache-2.0
#include "floats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "porter/core/error.hpp"

namespace porter {

float to_float(double value) {
  require(std::abs(value) <= std::numeric_limits<float>::max(), ErrorKind::numeric,
          "the compressed value ", value, " does not fit a float");
  return static_cast<float>(value);
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
  for (std::size_t i = 0; i < count; ++i)
    require(std::isfinite(out[i]), ErrorKind::protocol, "value ", i, " of ", count,
            " in a compressed vector is ", out[i], ", expected a finite number");
}

float get_scale(ByteReader& body) {
  const auto scale = body.get<float>();
  require(std::isfinite(scale) && !std::signbit(scale), ErrorKind::protocol,
          "the scale of a compressed vector is ", scale, ", expected a finite number >= 0");
  return scale;
}

}  // namespace porter
