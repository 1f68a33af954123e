// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "porter/core/bytes.hpp"

namespace porter {

/// The double rounded to float, or Error{numeric} where it leaves the range of float.
float to_float(double value);

/// The position of the first infinite or NaN entry, x.size() if there is none.
std::size_t first_not_finite(std::span<const float> x);

/// Appends all entries of x as floats.
void put_floats(std::span<const float> x, Payload& payload);
/// Appends scale * x[i] for each i of `indices`, rounded once to float.
void put_entries(std::span<const float> x, std::span<const std::uint32_t> indices, double scale,
                 Payload& payload);

/// Replaces `out` by `count` floats. Error{protocol} if one is not finite.
void get_floats(ByteReader& body, std::size_t count, std::vector<float>& out);
/// A float that is finite and not below zero (nor -0.0): the scale of a quantised vector.
float get_scale(ByteReader& body);

}  // namespace porter
