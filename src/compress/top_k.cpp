// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <functional>

#include "compressors.hpp"
#include "floats.hpp"
#include "varint.hpp"

namespace porter {
namespace {

// Orders entries by magnitude, equal ones by smaller position first: the bits of |x_i| grow with
// |x_i|, and the position, complemented, breaks ties.
std::uint64_t rank(float value, std::size_t position) {
  const auto magnitude = std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFF;
  return std::uint64_t{magnitude} << 32 | (0xFFFFFFFF - position);
}

// The positions of the k entries of highest rank, ascending. No two ranks are equal, so exactly k
// reach the k-th.
std::vector<std::uint32_t> largest(std::span<const float> x, std::size_t k) {
  std::vector<std::uint64_t> ranks(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) ranks[i] = rank(x[i], i);
  const auto kth = ranks.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(ranks.begin(), kth, ranks.end(), std::greater<>());
  const auto threshold = *kth;
  std::vector<std::uint32_t> positions;
  positions.reserve(k);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (rank(x[i], i) >= threshold) positions.push_back(static_cast<std::uint32_t>(i));
  return positions;
}

// Keeps the k entries of largest magnitude; rho = k/d, as they carry at least their share of
// |x|^2. Travelling: k gaps as varints (the first position, then each distance to the one before,
// less one), then k floats.
class TopK final : public Compressor {
 public:
  explicit TopK(Keep keep) : keep_(keep) {}

  std::optional<double> rho(std::size_t dim) const override {
    return static_cast<double>(keep_.of(dim)) / static_cast<double>(dim);
  }
  std::optional<double> omega(std::size_t) const override { return std::nullopt; }
  std::optional<std::size_t> kept(std::size_t dim) const override { return keep_.of(dim); }

 protected:
  void encode_body(std::span<const float> x, RngStream, Payload& payload) const override {
    const auto positions = largest(x, keep_.of(x.size()));
    std::uint32_t next = 0;  // the smallest position that may follow
    for (const auto position : positions) {
      put_varint(payload, position - next);
      next = position + 1;
    }
    put_entries(x, positions, 1.0, payload);
  }
  void decode_body(ByteReader& body, std::size_t dim, RngStream, Decoded& out) const override {
    out.dense = false;
    const auto k = keep_.of(dim);
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < k; ++i) {
      const auto position = next + get_varint(body);
      require(position < dim, ErrorKind::protocol, "a compressed vector names position ", position,
              ", expected one below ", dim);
      out.indices.push_back(static_cast<std::uint32_t>(position));
      next = position + 1;
    }
    get_floats(body, k, out.values);
  }

 private:
  Keep keep_;
};

}  // namespace

CompressorPtr make_top_k(SpecArgument argument, bool unbiased) {
  expect_biased(unbiased);
  return std::make_unique<TopK>(Keep(argument));
}

}  // namespace porter
