// SPDX-License-Identifier: Apache-2.0
#include "levels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bits.hpp"
#include "floats.hpp"

namespace porter {
namespace {

// |x| as the smallest float that is not below it. A double holds the squares of all floats.
float norm_rounded_up(std::span<const float> x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  const double norm = std::sqrt(sum);
  const float rounded = to_float(norm);
  return rounded < norm ? std::nextafter(rounded, std::numeric_limits<float>::infinity()) : rounded;
}

}  // namespace

double Levels::omega(std::size_t dim) const {
  const double s = top_;
  const auto d = static_cast<double>(dim);
  return std::min(d / (s * s), std::sqrt(d) / s);
}

void Levels::encode(std::span<const float> x, RngStream rng, Payload& payload) const {
  const float norm = norm_rounded_up(x);
  put(payload, norm);
  BitWriter codes(payload, x.size(), bits_);
  for (const double value : x) {
    const double u = rng.uniform();
    const double ratio = norm > 0 ? top_ * std::abs(value) / norm : 0;
    // u close to 1 may round the sum up to s + 1.
    const auto level = std::min(top_, static_cast<std::uint32_t>(ratio + u));
    const std::uint32_t sign = value < 0 && level > 0 ? 1 : 0;
    codes.put(sign << (bits_ - 1) | level);
  }
  codes.finish();
}

void Levels::decode(ByteReader& body, std::size_t dim, double divisor, Decoded& out) const {
  out.dense = true;
  const double norm = get_scale(body);
  BitReader codes(body, dim, bits_);
  out.values.resize(dim);
  for (auto& value : out.values) {
    const auto code = codes.get();
    const auto level = code & top_;
    const bool negative = code > top_;
    require(level > 0 ? norm > 0 : !negative, ErrorKind::protocol,
            "a compressed vector holds a non-canonical zero");
    const auto magnitude = static_cast<float>(norm * level / (top_ * divisor));
    value = negative ? -magnitude : magnitude;
  }
  codes.finish();
}

}  // namespace porter
