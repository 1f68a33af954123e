// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "compressors.hpp"
#include "floats.hpp"

namespace porter {
namespace {

// k of the positions 0 .. d-1, every set equally likely, ascending. Floyd's method (Bentley, Floyd:
// A Sample of Brilliance; CACM 1987), which draws k numbers whatever d is:
//   S = {};  for j = d-k, ..., d-1:  t = rng.below(j + 1);  S += t if t is not in S, else j
// The set is a bitmap, so that reading it out sorts it: k draws and d/64 words.
std::vector<std::uint32_t> draw_positions(std::size_t k, std::size_t d, RngStream rng) {
  std::vector<std::uint64_t> bitmap(d / 64 + 1, 0);
  const auto bit = [](std::size_t i) { return std::uint64_t{1} << (i % 64); };
  for (std::size_t j = d - k; j < d; ++j) {
    const auto t = static_cast<std::size_t>(rng.below(j + 1));
    const auto taken = (bitmap[t / 64] & bit(t)) != 0 ? j : t;
    bitmap[taken / 64] |= bit(taken);
  }
  std::vector<std::uint32_t> positions;
  positions.reserve(k);
  for (std::size_t word = 0; word < bitmap.size(); ++word)
    for (auto rest = bitmap[word]; rest != 0; rest &= rest - 1)
      positions.push_back(static_cast<std::uint32_t>(word * 64 + std::countr_zero(rest)));
  return positions;
}

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

 protected:
  void encode_body(std::span<const float> x, RngStream rng, Payload& payload) const override {
    const auto positions = draw_positions(keep_.of(x.size()), x.size(), rng);
    put_entries(x, positions, unbiased_ ? scale(x.size()) : 1.0, payload);
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream rng, Decoded& out) const override {
    out.dense = false;
    get_floats(body, keep_.of(dim), out.values);
    out.indices = draw_positions(out.values.size(), dim, rng);
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
