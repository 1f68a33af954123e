// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "bits.hpp"
#include "compressors.hpp"
#include "floats.hpp"

namespace porter {
namespace {

// C(x) = a sign(x), a = |x|_1 / d, sign(0) = +1: the float a, then d bits, 1 for x_i < 0.
// |C(x) - x|^2 = d a^2 - 2 a |x|_1 + |x|^2 = |x|^2 - |x|_1^2 / d  whatever sign(0) is, and
// |x|_1 >= |x|, so rho = 1/d for every x; for a dense x it is far better (2/pi for a Gaussian one).
class Sign final : public Compressor {
 public:
  std::optional<double> rho(std::size_t dim) const override { return 1 / static_cast<double>(dim); }
  std::optional<double> omega(std::size_t) const override { return std::nullopt; }

 protected:
  void encode_body(std::span<const float> x, RngStream, Payload& payload) const override {
    double sum = 0;
    for (const double value : x) sum += std::abs(value);
    const float scale = to_float(sum / static_cast<double>(x.size()));
    put(payload, scale);
    BitWriter bits(payload, x.size(), 1);
    for (const float value : x) bits.put(scale > 0 && value < 0 ? 1 : 0);
    bits.finish();
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
