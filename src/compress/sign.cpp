// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "compressors.hpp"
#include "core/vectors.hpp"
#include "floats.hpp"
#include "packing.hpp"

namespace porter {
namespace {

// Replaces x by scale sign(x), and gives the bits of the signs.
void put_signs(float scale, std::span<float> x, std::byte* out) {
  with_vectors([=]<Width>() PORTER_INLINE {
    const std::uint32_t one = scale > 0 ? 1 : 0;  // a scale of zero has no signs
    const std::size_t whole = x.size() / 32;
    for (std::size_t w = 0; w <= whole; ++w) {
      const auto piece = x.subspan(32 * w, std::min<std::size_t>(32, x.size() - 32 * w));
      std::uint32_t bits = 0;
      for (std::size_t i = 0; i < piece.size(); ++i) bits |= (piece[i] < 0 ? one : 0) << i;
      std::memcpy(out + 4 * w, &bits, packed_bytes(piece.size(), 1));
    }
    for (auto& value : x) value = value < 0 && scale > 0 ? -scale : scale;
  });
}

// C(x) = a sign(x), a = |x|_1 / d, sign(0) = sign(-0) = +1; NaN and infinities are refused: the
// float a, then d bits, 1 for x_i < 0. |C(x) - x|^2 = d a^2 - 2 a |x|_1 + |x|^2 = |x|^2 - |x|_1^2 /
// d  whatever sign(0) is, and |x|_1 >= |x|, so rho = 1/d for every x; for a dense x it is far
// better (2/pi for a Gaussian one).
class Sign final : public Compressor {
 public:
  std::optional<double> rho(std::size_t dim) const override { return 1 / static_cast<double>(dim); }
  std::optional<double> omega(std::size_t) const override { return std::nullopt; }

 protected:
  void encode_body(RngStream, Decoded& x, Payload& payload) const override {
    const auto dim = x.values.size();
    const float scale = to_float(sum_of_magnitudes(x.values) / static_cast<double>(dim));
    payload.assign(sizeof scale + packed_bytes(dim, 1), std::byte{0});
    std::memcpy(payload.data(), &scale, sizeof scale);
    put_signs(scale, x.values, payload.data() + sizeof scale);
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream, Decoded& out) const override {
    out.dense = true;
    const float scale = get_scale(body);
    BitReader bits(body, dim, 1);
    out.values.resize(dim);
    for (auto& value : out.values) {
      const bool negative = bits.get() != 0;
      require(!negative || scale > 0, ErrorKind::protocol,
              "a compressed vector holds a non-canonical zero");
      value = negative ? -scale : scale;
    }
    bits.finish();
  }
};

}  // namespace

CompressorPtr make_sign(SpecArgument argument, bool unbiased) {
  expect_biased(unbiased);
  expect_no_argument(argument);
  return std::make_unique<Sign>();
}

}  // namespace porter
