// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "compress/entries.hpp"
#include "compressors.hpp"
#include "core/sampling.hpp"
#include "core/vectors.hpp"
#include "floats.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

// Bit i says whether the i-th of the uniforms, two words each, is below p = limit 2^-53.
void flag(std::span<const std::uint32_t> words, std::int64_t limit, std::uint32_t* bitmap) {
  with_vectors([=]<Width>() PORTER_INLINE {
    const std::size_t count = words.size() / 2;
    for (std::size_t at = 0; at < count; at += 32) {
      const auto* w = words.data() + 2 * at;
      const auto size = std::min<std::size_t>(32, count - at);
      std::uint32_t bits = 0;
      for (std::size_t i = 0; i < size; ++i)
        bits |= (is_kept(w[2 * i], w[2 * i + 1], limit) ? 1U : 0U) << i;
      bitmap[at / 32] = bits;
    }
  });
}

// Entry i is kept if the i-th rng.uniform() is below p: one draw an entry, in order.
void draw_kept(double p, std::size_t d, RngStream rng, std::vector<std::uint32_t>& positions) {
  const auto limit = static_cast<std::int64_t>(std::ceil(p * 0x1p53));
  std::array<std::uint32_t, 2 * kPiece> words;
  positions.assign(2 * (d / 64 + 1), 0);
  for (std::size_t at = 0; at < d; at += kPiece) {
    const auto piece = std::span(words).first(2 * std::min(kPiece, d - at));
    rng.fill_words(piece);
    flag(piece, limit, &positions[at / 32]);
  }
  read_bitmap(positions);
}

// Keeps each entry with probability p = k/d, independently (the paper's random sparsification).
// Both ends draw the positions, so only the kept floats travel. Unscaled rho = p; scaled by 1/p it
// is unbiased, with omega = 1/p - 1. A kept NaN or infinity is refused, -0.0 travels as it is.
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
