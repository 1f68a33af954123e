// SPDX-License-Identifier: Apache-2.0
#include "floats.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/vectors.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kLanes = 16;

template <class Term>
PORTER_INLINE inline double interleaved_sum(std::span<const float> x, Term term) {
  std::array<double, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += term(x[i + lane]);
  for (; i < x.size(); ++i) sums[i % kLanes] += term(x[i]);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

}  // namespace

double sum_of_squares(std::span<const float> x) {
  return with_vectors([=]<Width>() PORTER_INLINE {
    return interleaved_sum(x, [](double value) PORTER_INLINE { return value * value; });
  });
}

double sum_of_magnitudes(std::span<const float> x) {
  return with_vectors([=]<Width>() PORTER_INLINE {
    return interleaved_sum(x, [](double value) PORTER_INLINE { return std::abs(value); });
  });
}

void subtract(std::span<const double> a, std::span<const double> b, std::span<float> out) {
  with_vectors([=]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(a[i] - b[i]);
  });
}

void subtract(std::span<const float> a, std::span<const float> b, std::span<float> out) {
  with_vectors([=]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] - b[i];
  });
}

void scale_floats(double scale, std::span<float> x) {
  if (scale == 1) return;
  for (auto& value : x) value = to_float(scale * value);
}

void keep_entries(double scale, Decoded& x, Payload& payload) {
  x.dense = false;
  for (std::size_t i = 0; i < x.indices.size(); ++i) x.values[i] = x.values[x.indices[i]];
  x.values.resize(x.indices.size());
  scale_floats(scale, x.values);
  set_floats(x.values, payload);
}

float to_float(double value) {
  require(std::abs(value) <= std::numeric_limits<float>::max(), ErrorKind::numeric,
          "the compressed value ", value, " does not fit a float");
  return static_cast<float>(value);
}

std::size_t first_not_finite(std::span<const float> x) {
  const auto search = [x] {
    return static_cast<std::size_t>(
        std::find_if_not(x.begin(), x.end(), [](float value) { return std::isfinite(value); }) -
        x.begin());
  };
  constexpr std::size_t kFew = 16;  // not worth the way to the vectors
  if (x.size() < kFew) return search();
  return with_vectors([=]<Width>() PORTER_INLINE {
    // Finite floats are those whose bits, without the sign, are below those of infinity. The
    // maximum has no branch, so the usual case runs in vectors.
    std::uint32_t largest = 0;
    for (const float value : x)
      largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFF);
    return largest < 0x7F800000 ? x.size() : search();
  });
}

void set_floats(std::span<const float> x, Payload& payload) {
  const auto bytes = std::as_bytes(x);
  payload.assign(bytes.begin(), bytes.end());
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
