// SPDX-License-Identifier: Apache-2.0
#include "compressors.hpp"
#include "levels.hpp"

namespace porter {
namespace {

// C(x) = Q(x) / (1 + omega), Q and omega of levels.hpp. From E Q = x and E|Q|^2 <= (1 + omega)|x|^2
// follows E|C - x|^2 <= (1 - rho)|x|^2 with rho = 1 / (1 + omega), for every omega.
class Gsgd final : public Compressor {
 public:
  explicit Gsgd(Levels levels) : levels_(levels) {}

  std::optional<double> rho(std::size_t dim) const override { return 1 / (1 + levels_.omega(dim)); }
  std::optional<double> omega(std::size_t) const override { return std::nullopt; }

 protected:
  void encode_body(RngStream rng, Decoded& x, Payload& payload) const override {
    levels_.encode(rng, 1 + levels_.omega(x.values.size()), x, payload);
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream, Decoded& out) const override {
    levels_.decode(body, dim, 1 + levels_.omega(dim), out);
  }

 private:
  Levels levels_;
};

}  // namespace

CompressorPtr make_gsgd(SpecArgument argument, bool unbiased) {
  expect_biased(unbiased);
  return std::make_unique<Gsgd>(Levels(parse_bits(argument)));
}

}  // namespace porter
