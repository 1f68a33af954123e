// SPDX-License-Identifier: Apache-2.0
#include "compressors.hpp"
#include "levels.hpp"

namespace porter {
namespace {

// With Q and omega of levels.hpp:
//   qsgd  C(x) = Q(x): unbiased. A contraction, with rho = 1 - omega, only where omega < 1.
//   gsgd  C(x) = Q(x) / (1 + omega). From E Q = x and E|Q|^2 <= (1 + omega)|x|^2 follows
//         E|C - x|^2 <= (1 - rho)|x|^2 with rho = 1 / (1 + omega), for every omega.
class Quantiser final : public Compressor {
 public:
  Quantiser(Levels levels, bool scaled_down) : levels_(levels), scaled_down_(scaled_down) {}

  std::optional<double> rho(std::size_t dim) const override {
    const double omega = levels_.omega(dim);
    if (scaled_down_) return 1 / (1 + omega);
    return omega < 1 ? std::optional(1 - omega) : std::nullopt;
  }
  std::optional<double> omega(std::size_t dim) const override {
    return scaled_down_ ? std::nullopt : std::optional(levels_.omega(dim));
  }

 protected:
  void encode_body(RngStream rng, Decoded& x, Payload& payload) const override {
    levels_.encode(rng, divisor(x.values.size()), x, payload);
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream, Decoded& out) const override {
    levels_.decode(body, dim, divisor(dim), out);
  }

 private:
  double divisor(std::size_t dim) const { return scaled_down_ ? 1 + levels_.omega(dim) : 1; }

  Levels levels_;
  bool scaled_down_;
};

}  // namespace

CompressorPtr make_qsgd(SpecArgument argument, bool) {
  return std::make_unique<Quantiser>(Levels(parse_bits(argument)), false);
}

CompressorPtr make_gsgd(SpecArgument argument, bool unbiased) {
  expect_biased(unbiased);
  return std::make_unique<Quantiser>(Levels(parse_bits(argument)), true);
}

}  // namespace porter
