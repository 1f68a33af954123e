// SPDX-License-Identifier: Apache-2.0
#include "compressors.hpp"
#include "levels.hpp"

namespace porter {
namespace {

// C(x) = Q(x) of levels.hpp: unbiased. A contraction, with rho = 1 - omega, only where omega < 1.
class Qsgd final : public Compressor {
 public:
  explicit Qsgd(Levels levels) : levels_(levels) {}

  std::optional<double> rho(std::size_t dim) const override {
    const double omega = levels_.omega(dim);
    return omega < 1 ? std::optional(1 - omega) : std::nullopt;
  }
  std::optional<double> omega(std::size_t dim) const override { return levels_.omega(dim); }

 protected:
  void encode_body(RngStream rng, Decoded& x, Payload& payload) const override {
    levels_.encode(rng, 1.0, x, payload);
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream, Decoded& out) const override {
    levels_.decode(body, dim, 1.0, out);
  }

 private:
  Levels levels_;
};

}  // namespace

CompressorPtr make_qsgd(SpecArgument argument, bool) {
  return std::make_unique<Qsgd>(Levels(parse_bits(argument)));
}

}  // namespace porter
