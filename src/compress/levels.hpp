// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/compress/compressor.hpp"

namespace porter {

/// The quantiser Q of qsgd and gsgd (Alistarh, Grubic, Li, Tomioka, Vojnovic: QSGD; NIPS 2017):
///   Q(x)_i = |x| sign(x_i) l_i / s,   l_i = floor(s |x_i| / |x| + u_i),   s = 2^(bits-1) - 1,
/// u_i the i-th rng.uniform(). It is unbiased, and E|Q(x) - x|^2 <= omega |x|^2.
///
/// |x| is summed in double (sum_of_squares) and travels as the next float that is not smaller.
/// x must be finite: Error{numeric} where |x| is NaN or leaves float. -0.0 becomes 0.0.
/// The levels use that same float, so its rounding causes no bias, and no l_i exceeds s.
class Levels {
 public:
  explicit Levels(unsigned bits) : bits_(bits), top_((1U << (bits - 1)) - 1) {}

  /// min(d / s^2, sqrt(d) / s)
  double omega(std::size_t dim) const;

  /// Replaces the payload by the norm as float, then d codes of `bits` bits: sign * 2^(bits-1) +
  /// level, where a zero level has sign 0; and the dense x by Q(x) / divisor.
  void encode(RngStream rng, double divisor, Decoded& x, Payload& payload) const;
  /// out = Q(x) / divisor
  void decode(ByteReader& body, std::size_t dim, double divisor, Decoded& out) const;

 private:
  unsigned bits_;
  std::uint32_t top_;  // s, the highest level
};

}  // namespace porter
