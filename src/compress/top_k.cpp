// SPDX-License-Identifier: Apache-2.0
#include "compressors.hpp"
#include "floats.hpp"
#include "largest.hpp"
#include "packing.hpp"

namespace porter {
namespace {

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
  void encode_body(RngStream, Decoded& x, Payload& payload) const override {
    x.dense = false;
    keep_largest(keep_.of(x.values.size()), x.values, x.indices);
    payload.clear();
    std::uint32_t next = 0;  // the smallest position that may follow
    for (const auto position : x.indices) {
      put_varint(payload, position - next);
      next = position + 1;
    }
    const auto floats = std::as_bytes(std::span(x.values));
    payload.insert(payload.end(), floats.begin(), floats.end());
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
