// SPDX-License-Identifier: Apache-2.0
#include "porter/compress/compressor.hpp"

#include <algorithm>
#include <cassert>
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

[[noreturn]] void refuse_entry(std::size_t position, std::size_t dim) {
  fail(ErrorKind::numeric, "cannot compress a vector whose entry ", position, " of ", dim,
       " is not finite");
}

// How many of the ascending positions are below `limit`. A binary search without branches: the
// searches for all tiles overlap, where std::lower_bound would wait for mispredicted jumps.
std::size_t count_below(std::size_t limit, std::span<const std::uint32_t> positions) {
  std::size_t below = 0;
  for (std::size_t left = positions.size(); left > 0;) {
    const std::size_t half = (left + 1) / 2;
    below += positions[below + half - 1] < limit ? half : 0;
    left -= half;
  }
  return below;
}

void set_tile_starts(std::size_t dim, Decoded& out) {
  auto& starts = out.tile_starts;
  if (out.dense) return starts.clear();
  const std::size_t tiles = (dim + kTileSize - 1) / kTileSize;
  starts.resize(tiles + 1);
  starts[0] = 0;
  for (std::size_t t = 1; t < tiles; ++t)
    starts[t] = static_cast<std::uint32_t>(count_below(t * kTileSize, out.indices));
  starts[tiles] = static_cast<std::uint32_t>(out.indices.size());
}

// What a payload holds before its checksum.
std::span<const std::byte> checked_body(std::span<const std::byte> payload) {
  require(payload.size() >= kChecksumBytes, ErrorKind::protocol, "a compressed vector ends with ",
          kChecksumBytes, " bytes of checksum, found ", payload.size(), " bytes in all");
  const auto body = payload.first(payload.size() - kChecksumBytes);
  const auto stated = ByteReader(payload.last(kChecksumBytes)).get<std::uint32_t>();
  require(crc32(body) == stated, ErrorKind::protocol, "the checksum of a compressed vector of ",
          payload.size(), " bytes does not match: it was altered or cut");
  return body;
}

void require_end(const ByteReader& reader, std::size_t dim) {
  require(reader.left() == 0, ErrorKind::protocol, "a compressed vector of length ", dim, " has ",
          reader.left(), " bytes too many");
}

void check_kept(std::size_t dim, const Decoded& sparse) {
  const auto bad = first_not_finite(sparse.values);
  if (bad != sparse.values.size()) refuse_entry(sparse.indices[bad], dim);
}

// Floats and a checksum.
void seal(std::span<const float> values, Payload& payload) {
  set_floats(values, payload);
  put(payload, crc32(payload));
}

void start_dense(std::size_t dim, Decoded& x) {
  x.dense = true;
  x.indices.clear();
  x.values.resize(dim);
}

}  // namespace

void Compressor::encode(std::span<const float> x, RngStream rng, Payload& payload) const {
  check_dim(x.size());
  const auto bad = first_not_finite(x);
  if (bad != x.size()) refuse_entry(bad, x.size());
  Decoded work;
  start_dense(x.size(), work);
  std::copy(x.begin(), x.end(), work.values.begin());
  encode_body(rng, work, payload);
  put(payload, crc32(payload));
}

void Compressor::encode_difference(std::span<const double> a, std::span<const double> b,
                                   RngStream rng, Payload& payload, Decoded& out) const {
  encode_any_difference(a, b, rng, payload, out);
}

void Compressor::encode_difference(std::span<const float> a, std::span<const float> b,
                                   RngStream rng, Payload& payload, Decoded& out) const {
  encode_any_difference(a, b, rng, payload, out);
}

std::size_t Compressor::compress_difference(std::span<const double> a, std::span<const double> b,
                                            RngStream rng, Payload& payload, Decoded& out) const {
  return compress_any_difference(a, b, rng, payload, out);
}

std::size_t Compressor::compress_difference(std::span<const float> a, std::span<const float> b,
                                            RngStream rng, Payload& payload, Decoded& out) const {
  return compress_any_difference(a, b, rng, payload, out);
}

// Whether C sends the floats at positions that it draws; `out` is then complete.
template <class Real>
bool Compressor::keep_difference(std::span<const Real> a, std::span<const Real> b, RngStream rng,
                                 Decoded& out) const {
  assert(a.size() == b.size());
  check_dim(a.size());
  const auto scale = draw_positions(a.size(), rng, out.indices);
  if (!scale) return false;
  out.dense = false;
  gather_difference(a, b, out.indices, out.values);
  check_kept(a.size(), out);
  scale_floats(*scale, out.values);
  set_tile_starts(a.size(), out);
  return true;
}

template <class Real>
void Compressor::encode_dense_difference(std::span<const Real> a, std::span<const Real> b,
                                         RngStream rng, Payload& payload, Decoded& out) const {
  const auto dim = a.size();
  start_dense(dim, out);
  subtract(a, b, out.values);
  const auto bad = first_not_finite(out.values);
  if (bad != dim) refuse_entry(bad, dim);
  encode_body(rng, out, payload);
  put(payload, crc32(payload));
  set_tile_starts(dim, out);
}

template <class Real>
void Compressor::encode_any_difference(std::span<const Real> a, std::span<const Real> b,
                                       RngStream rng, Payload& payload, Decoded& out) const {
  if (keep_difference(a, b, rng, out))
    seal(out.values, payload);
  else
    encode_dense_difference(a, b, rng, payload, out);
}

template <class Real>
std::size_t Compressor::compress_any_difference(std::span<const Real> a, std::span<const Real> b,
                                                RngStream rng, Payload& payload,
                                                Decoded& out) const {
  if (keep_difference(a, b, rng, out)) return sealed_bytes(out.values.size());
  encode_dense_difference(a, b, rng, payload, out);
  return payload.size();
}

void seal_floats(std::size_t dim, Payload& payload, Decoded& sparse) {
  count_sealed(dim, sparse);
  seal(sparse.values, payload);
}

std::size_t count_sealed(std::size_t dim, Decoded& sparse) {
  check_dim(dim);
  sparse.dense = false;
  check_kept(dim, sparse);
  set_tile_starts(dim, sparse);
  return sealed_bytes(sparse.values.size());
}

std::size_t sealed_bytes(std::size_t entries) { return entries * sizeof(float) + kChecksumBytes; }

void unseal_floats(std::span<const std::byte> payload, std::size_t dim, Decoded& sparse) {
  check_dim(dim);
  ByteReader reader(checked_body(payload));
  get_floats(reader, sparse.indices.size(), sparse.values);
  require_end(reader, dim);
  sparse.dense = false;
  set_tile_starts(dim, sparse);
}

void Compressor::decode(std::span<const std::byte> payload, std::size_t dim, RngStream rng,
                        Decoded& out) const {
  check_dim(dim);
  ByteReader reader(checked_body(payload));
  if (!plain_subset(dim)) out.indices.clear();  // else all are replaced, in their place
  decode_body(reader, dim, rng, out);
  require_end(reader, dim);
  set_tile_starts(dim, out);
}

}  // namespace porter
