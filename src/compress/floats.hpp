// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "porter/compress/compressor.hpp"
#include "porter/core/bytes.hpp"

namespace porter {

/// out = a - b, rounded to float; NaN and infinities as in plain loops, to be found by
/// first_not_finite.
void subtract(std::span<const double> a, std::span<const double> b, std::span<float> out);
void subtract(std::span<const float> a, std::span<const float> b, std::span<float> out);
/// Replaces `out` by (a - b)[i], rounded to float, for each i of `indices`.
template <class Real>
void gather_difference(std::span<const Real> a, std::span<const Real> b,
                       std::span<const std::uint32_t> indices, std::vector<float>& out) {
  out.resize(indices.size());
  auto* to = out.data();
  for (const auto i : indices) *to++ = static_cast<float>(a[i] - b[i]);
}
/// x = scale x, rounded once to float. Error{numeric} where that leaves the range of float.
void scale_floats(double scale, std::span<float> x);
/// The sparsifiers that send floats alone: leaves of the dense x the entries at x.indices, times
/// `scale`, and replaces the payload by them.
void keep_entries(double scale, Decoded& x, Payload& payload);

/// The double rounded to float, or Error{numeric} where it leaves the range of float.
float to_float(double value);

/// Sums in double over sixteen interleaved partial sums, entry i in sum i % 16; then sum j takes up
/// sum j + 8, of these j + 4, j + 2 and j + 1. The order is part of the format of what is sent.
/// NaN and infinities show in the sum.
double sum_of_squares(std::span<const float> x);
double sum_of_magnitudes(std::span<const float> x);

/// The position of the first infinite or NaN entry, x.size() if there is none.
std::size_t first_not_finite(std::span<const float> x);

/// Replaces the payload by all entries of x.
void set_floats(std::span<const float> x, Payload& payload);

/// Replaces `out` by `count` floats. Error{protocol} if one is not finite.
void get_floats(ByteReader& body, std::size_t count, std::vector<float>& out);
/// A float that is finite and not below zero (nor -0.0): the scale of a quantised vector.
float get_scale(ByteReader& body);

}  // namespace porter
