// SPDX-License-Identifier: Apache-2.0
#include "porter/compress/compressor.hpp"

#include <limits>

#include "floats.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kChecksumBytes = sizeof(std::uint32_t);

void check_dim(std::size_t dim) {
  require(dim >= 1 && dim <= std::numeric_limits<std::uint32_t>::max(), ErrorKind::usage,
          "a compressor takes vectors of 1 to 2^32 - 1 entries, got ", dim);
}

}  // namespace

void Compressor::encode(std::span<const float> x, RngStream rng, Payload& payload) const {
  check_dim(x.size());
  const auto bad = first_not_finite(x);
  require(bad == x.size(), ErrorKind::numeric, "cannot compress a vector whose entry ", bad, " of ",
          x.size(), " is not finite");
  payload.clear();
  encode_body(x, rng, payload);
  put(payload, crc32(payload));
}

void Compressor::decode(std::span<const std::byte> payload, std::size_t dim, RngStream rng,
                        Decoded& out) const {
  check_dim(dim);
  require(payload.size() >= kChecksumBytes, ErrorKind::protocol, "a compressed vector ends with ",
          kChecksumBytes, " bytes of checksum, found ", payload.size(), " bytes in all");
  const auto body = payload.first(payload.size() - kChecksumBytes);
  const auto stated = ByteReader(payload.last(kChecksumBytes)).get<std::uint32_t>();
  require(crc32(body) == stated, ErrorKind::protocol, "the checksum of a compressed vector of ",
          payload.size(), " bytes does not match: it was altered or cut");
  ByteReader reader(body);
  out.indices.clear();
  out.values.clear();
  decode_body(reader, dim, rng, out);
  require(reader.left() == 0, ErrorKind::protocol, "a compressed vector of length ", dim, " has ",
          reader.left(), " bytes too many");
}

}  // namespace porter
