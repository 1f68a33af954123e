// SPDX-License-Identifier: Apache-2.0
#include "compressors.hpp"
#include "floats.hpp"

namespace porter {
namespace {

// Entry i is kept if the i-th rng.uniform() is below p: one draw an entry, in order.
void draw_kept(double p, std::size_t d, RngStream rng, std::vector<std::uint32_t>& positions) {
  positions.clear();
  for (std::size_t i = 0; i < d; ++i)
    if (rng.uniform() < p) positions.push_back(static_cast<std::uint32_t>(i));
}

// Keeps each entry with probability p = k/d, independently (the paper's random sparsification).
// Both ends draw the positions, so only the kept floats travel. Unscaled rho = p; scaled by 1/p it
// is unbiased, with omega = 1/p - 1.
class Bernoulli final : public Compressor {
 public:
  Bernoulli(Keep keep, bool unbiased) : keep_(keep), unbiased_(unbiased) {}

  std::optional<double> rho(std::size_t dim) const override {
    return unbiased_ ? std::nullopt : std::optional(share(dim));
  }
  std::optional<double> omega(std::size_t dim) const override {
    return unbiased_ ? std::optional(1 / share(dim) - 1) : std::nullopt;
  }

 protected:
  std::optional<double> draw_positions(std::size_t dim, RngStream rng,
                                       std::vector<std::uint32_t>& positions) const override {
    const double p = share(dim);
    draw_kept(p, dim, rng, positions);
    return unbiased_ ? 1 / p : 1.0;
  }
  void encode_body(RngStream rng, Decoded& x, Payload& payload) const override {
    const auto scale_of_sent = draw_positions(x.values.size(), rng, x.indices);
    keep_entries(*scale_of_sent, x, payload);
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream rng, Decoded& out) const override {
    out.dense = false;
    draw_positions(dim, rng, out.indices);
    get_floats(body, out.indices.size(), out.values);
  }

 private:
  double share(std::size_t dim) const {  // p
    return static_cast<double>(keep_.of(dim)) / static_cast<double>(dim);
  }
  Keep keep_;
  bool unbiased_;
};

}  // namespace

CompressorPtr make_bernoulli(SpecArgument argument, bool unbiased) {
  return std::make_unique<Bernoulli>(Keep(argument), unbiased);
}

}  // namespace porter
