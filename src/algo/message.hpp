// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "porter/compress/compressor.hpp"

namespace porter {

/// A compressed vector: the bytes that travel, and what everyone decodes from them.
struct Message {
  Payload payload;  ///< not always made where it goes nowhere
  Decoded decoded;
  std::size_t bytes = 0;  ///< of the payload, made or not
};

/// What a message decodes to, wherever it lies.
struct DecodedView {
  bool dense = false;
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
  std::span<const std::uint32_t> tile_starts;
};

/// message <- C(a - b), the difference rounded to float. The sender, too, works with the decoded
/// bytes. Where they do not travel, they are counted and need not be made.
void compress_difference(const Compressor& compressor, std::span<const double> a,
                         std::span<const double> b, RngStream rng, Message& message,
                         bool travels = true);
void compress_difference(const Compressor& compressor, std::span<const float> a,
                         std::span<const float> b, RngStream rng, Message& message,
                         bool travels = true);

/// message <- zero, which takes no bytes.
void make_silent(Message& message);

/// message <- value(j) at the given positions of a vector of length `dim`, as random_k sends it:
/// floats and a checksum. `positions` ascend, and everybody knows them.
template <class Value>
void message_at(std::span<const std::uint32_t> positions, std::size_t dim, const Value& value,
                Message& message, bool travels) {
  auto& decoded = message.decoded;
  decoded.indices.assign(positions.begin(), positions.end());
  decoded.values.resize(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i)
    decoded.values[i] = static_cast<float>(value(positions[i]));
  message.bytes = count_sealed(dim, decoded);
  if (travels) seal_floats(dim, message.payload, decoded);
}

/// The same where it does not travel and the vector has one tile, for short messages, of which the
/// looks at them are most of the work: whether it is finite and its norm below that of which the
/// square is `limit`, in whatever order the squares are added up. If not it must be made again.
template <class Value>
bool short_message_at(std::span<const std::uint32_t> positions, const Value& value, double limit,
                      Message& message) {
  auto& [dense, indices, values, tile_starts] = message.decoded;
  const std::size_t size = positions.size();
  dense = false;
  indices.resize(size);
  values.resize(size);
  tile_starts.resize(2);
  tile_starts[0] = 0;
  tile_starts[1] = static_cast<std::uint32_t>(size);
  double squares = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto sent = static_cast<float>(value(positions[i]));
    indices[i] = positions[i];
    values[i] = sent;
    squares += double{sent} * double{sent};
  }
  message.bytes = sealed_bytes(size);
  return squares < limit;
}

/// out += weight C(...), computed in the type of `out`; NaN, infinities and signed zeros as in a
/// plain loop
void add_decoded(double weight, const Message& message, std::span<double> out);
void add_decoded(double weight, const Message& message, std::span<float> out);
/// The same for a part of the vector, `out`, whose first entry is number `first` of the whole:
/// `first` is a multiple of kTileSize, and `out` is a whole number of tiles or ends with the
/// vector.
void add_decoded(double weight, const Message& message, std::size_t first, std::span<double> out);
void add_decoded(double weight, const Message& message, std::size_t first, std::span<float> out);
void add_decoded(double weight, const DecodedView& message, std::size_t first,
                 std::span<double> out);
void add_decoded(double weight, const DecodedView& message, std::size_t first,
                 std::span<float> out);

/// Before a message leaves: Error{numeric} if it is longer than `bound`, which says that the agent
/// has diverged. Infinite and undefined entries are longer than any bound.
void check_sent(const Decoded& message, double bound, std::size_t agent, std::uint32_t step);

/// A message of somebody else, before it is used: Error{protocol}, to which Exchange::collect adds
/// the sender's name.
void check_received(const Decoded& message, double bound, std::uint32_t step);
/// The same for a vector whose norm is given.
void check_received(double norm, double bound, std::uint32_t step);

}  // namespace porter
