// SPDX-License-Identifier: Apache-2.0
// A compressor of your own: every entry as its upper two bytes (a bfloat16), in a run of PORTER-GC
// beside the same run without compression.
#include <bit>
#include <cstdio>

#include "porter/porter.hpp"

using namespace porter;

// Cutting 16 bits of a float off changes it by less than 2^-7 of itself.
class UpperHalf final : public Compressor {
 public:
  std::optional<double> rho(std::size_t) const override { return 1 - 0x1p-14; }
  std::optional<double> omega(std::size_t) const override { return std::nullopt; }

 protected:
  void encode_body(RngStream, Decoded& x, Payload& payload) const override {
    payload.clear();
    for (float& value : x.values) {
      const auto upper = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
      put(payload, upper);
      value = widened(upper);
    }
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream, Decoded& out) const override {
    out.dense = true;
    for (std::size_t i = 0; i < dim; ++i) out.values.push_back(widened(body.get<std::uint16_t>()));
  }

 private:
  static float widened(std::uint16_t upper) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(upper) << 16);
  }
};

// The last loss, and the bits that an agent has sent.
std::pair<double, double> result_of(const Config& config, Sources sources) {
  Trainer trainer(assemble(config, std::move(sources)));
  train(trainer);
  const auto row = trainer.measure();
  return {row.loss, row.bits_per_agent};
}

int main() {
  const auto config = parse_config(
      "algorithm = {name = 'porter-gc', rounds = 500, step = 0.1, consensus = 0.5, compressor = "
      "'identity'}\nnetwork = {agents = 5, graph = 'ring'}",
      "own compressor");
  const auto [loss, bits] = result_of(config, {});
  const auto [half_loss, half_bits] =
      result_of(config, {.compressor = std::make_shared<UpperHalf>()});
  std::printf("identity: loss %.5f with %.0f bits; upper half: loss %.5f with %.0f bits\n", loss,
              bits, half_loss, half_bits);
  return half_loss < 1.01 * loss && half_bits < 0.6 * bits ? 0 : 1;
}
