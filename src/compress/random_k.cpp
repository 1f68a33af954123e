// SPDX-License-Identifier: Apache-2.0
#include "compressors.hpp"
#include "core/sampling.hpp"
#include "floats.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

// Keeps exactly k entries chosen uniformly. Both ends draw the positions, so k floats travel.
// Unscaled, each entry is lost with probability 1 - k/d: rho = k/d. Scaled by d/k it is unbiased,
// with omega = d/k - 1.
class RandomK final : public Compressor {
 public:
  RandomK(Keep keep, bool unbiased) : keep_(keep), unbiased_(unbiased) {}

  std::optional<double> rho(std::size_t dim) const override {
    return unbiased_ ? std::nullopt : std::optional(share(dim));
  }
  std::optional<double> omega(std::size_t dim) const override {
    return unbiased_ ? std::optional(scale(dim) - 1) : std::nullopt;
  }
  std::optional<std::size_t> kept(std::size_t dim) const override { return keep_.of(dim); }
  std::optional<std::size_t> plain_subset(std::size_t dim) const override {
    return unbiased_ ? std::nullopt : kept(dim);
  }

 protected:
  std::optional<double> draw_positions(std::size_t dim, RngStream rng,
                                       std::vector<std::uint32_t>& positions) const override {
    choose(keep_.of(dim), dim, rng, positions);
    return unbiased_ ? scale(dim) : 1.0;
  }
  void encode_body(RngStream rng, Decoded& x, Payload& payload) const override {
    const auto scale_of_sent = draw_positions(x.values.size(), rng, x.indices);
    keep_entries(*scale_of_sent, x, payload);
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream rng, Decoded& out) const override {
    out.dense = false;
    get_floats(body, keep_.of(dim), out.values);
    draw_positions(dim, rng, out.indices);
  }

 private:
  double share(std::size_t dim) const {  // k / d
    return static_cast<double>(keep_.of(dim)) / static_cast<double>(dim);
  }
  double scale(std::size_t dim) const {  // d / k
    return static_cast<double>(dim) / static_cast<double>(keep_.of(dim));
  }
  Keep keep_;
  bool unbiased_;
};

}  // namespace

CompressorPtr make_random_k(SpecArgument argument, bool unbiased) {
  return std::make_unique<RandomK>(Keep(argument), unbiased);
}

}  // namespace porter
