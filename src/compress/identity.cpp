// SPDX-License-Identifier: Apache-2.0
#include "compressors.hpp"
#include "floats.hpp"

namespace porter {
namespace {

// C(x) = x: d floats.
class Identity final : public Compressor {
 public:
  std::optional<double> rho(std::size_t) const override { return 1.0; }
  std::optional<double> omega(std::size_t) const override { return 0.0; }

 protected:
  void encode_body(RngStream, Decoded& x, Payload& payload) const override {
    set_floats(x.values, payload);
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream, Decoded& out) const override {
    out.dense = true;
    get_floats(body, dim, out.values);
  }
};

}  // namespace

CompressorPtr make_identity(SpecArgument argument, bool) {
  expect_no_argument(argument);
  return std::make_unique<Identity>();
}

}  // namespace porter
