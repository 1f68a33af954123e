// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>

#include "compress/entries.hpp"
#include "compressors.hpp"
#include "core/vectors.hpp"
#include "packing.hpp"

namespace porter {
namespace {

constexpr unsigned kCodeBits = kNaturalBits;
constexpr std::uint32_t kTopExponent = kNaturalTop >> kMantissaBits;

void check_range(std::span<const float> x) {
  std::uint32_t largest = 0;
  for (const float value : x) largest = std::max(largest, magnitude_bits(value));
  require(largest <= kNaturalTop, ErrorKind::numeric,
          "natural compresses entries of magnitude up to 2^127, got ",
          std::bit_cast<float>(largest));
}

// Rounds x and gives the codes.
void round(std::span<float> x, const std::uint32_t* words, std::uint32_t* codes) {
  with_vectors([=]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < x.size(); ++i) {
      codes[i] = natural_code(x[i], words[2 * i + 1]);
      x[i] = natural_value(codes[i]);
    }
  });
}

// Natural compression (Horvath, Ho, Horvath, Sahu, Canini, Richtarik, 2019): |x_i| = 2^e (1 + m)
// becomes 2^(e+1) if the i-th rng.uniform() is below m, else 2^e. Unbiased; the variance
// 2^2e m (1 - m) is at most x_i^2 / 8, at m = 1/3, so omega = 1/8 and rho = 7/8.
// An entry is 9 bits: sign * 256 + the exponent field of the float (2^e is e + 127), 0 for zero.
// Entries below the smallest normal float, 2^-126, become zero, -0.0 too; 2^128 is no float, so
// entries above 2^127, infinities and NaN are refused.
class Natural final : public Compressor {
 public:
  std::optional<double> rho(std::size_t) const override { return 1 - 1.0 / 8; }
  std::optional<double> omega(std::size_t) const override { return 1.0 / 8; }

 protected:
  void encode_body(RngStream rng, Decoded& x, Payload& payload) const override {
    const auto dim = x.values.size();
    check_range(x.values);
    const auto body = packed_bytes(dim, kCodeBits);
    payload.resize(body + kPackSlack);
    BitPacker packer(payload.data(), kCodeBits);
    std::array<std::uint32_t, 2 * kPiece> words;
    std::array<std::uint32_t, kPiece> codes{};
    for (std::size_t at = 0; at < dim; at += kPiece) {
      const auto piece = std::span(x.values).subspan(at, std::min(kPiece, dim - at));
      rng.fill_words(std::span(words).first(2 * piece.size()));
      codes.fill(0);
      round(piece, words.data(), codes.data());
      packer.put(std::span(codes).first((piece.size() + 7) / 8 * 8));
    }
    payload.resize(body);
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
      value = natural_value(code);
    }
    codes.finish();
  }
};

}  // namespace

CompressorPtr make_natural(SpecArgument argument, bool) {
  expect_no_argument(argument);
  return std::make_unique<Natural>();
}

}  // namespace porter
