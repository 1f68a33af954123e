// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "bits.hpp"
#include "compressors.hpp"

namespace porter {
namespace {

constexpr unsigned kCodeBits = 9, kMantissaBits = 23;
constexpr std::uint32_t kTopExponent = 254;  // the exponent field of 2^127

// Natural compression (Horvath, Ho, Horvath, Sahu, Canini, Richtarik, 2019): |x_i| = 2^e (1 + m)
// becomes 2^(e+1) if the i-th rng.uniform() is below m, else 2^e. Unbiased; the variance
// 2^2e m (1 - m) is at most x_i^2 / 8, at m = 1/3, so omega = 1/8 and rho = 7/8.
// An entry is 9 bits: sign * 256 + the exponent field of the float (2^e is e + 127), 0 for zero.
// Entries below the smallest normal float, 2^-126, become zero; 2^128 is no float, so entries
// above 2^127 are refused.
class Natural final : public Compressor {
 public:
  std::optional<double> rho(std::size_t) const override { return 1 - 1.0 / 8; }
  std::optional<double> omega(std::size_t) const override { return 1.0 / 8; }

 protected:
  void encode_body(std::span<const float> x, RngStream rng, Payload& payload) const override {
    BitWriter codes(payload, x.size(), kCodeBits);
    for (const float value : x) codes.put(round(value, rng.uniform()));
    codes.finish();
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream, Decoded& out) const override {
    out.dense = true;
    BitReader codes(body, dim, kCodeBits);
    out.values.resize(dim);
    for (auto& value : out.values) {
      const auto code = codes.get();
      const auto exponent = code & 0xFF;
      require(exponent <= kTopExponent && (exponent > 0 || code == 0), ErrorKind::protocol,
              "a compressed vector holds the code ", code, ", expected 0 or a power of two");
      value = std::bit_cast<float>(code << kMantissaBits);
    }
    codes.finish();
  }

 private:
  static std::uint32_t round(float value, double u) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto code = bits >> kMantissaBits;  // sign and exponent field
    const auto exponent = code & 0xFF;
    const double mantissa = (bits & 0x7FFFFF) * 0x1p-23;
    require(exponent < kTopExponent || mantissa == 0, ErrorKind::numeric,
            "natural compresses entries of magnitude up to 2^127, got ", value);
    if (exponent == 0) return 0;
    return u < mantissa ? code + 1 : code;
  }
};

}  // namespace

CompressorPtr make_natural(SpecArgument argument, bool) {
  expect_no_argument(argument);
  return std::make_unique<Natural>();
}

}  // namespace porter
