// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"

#include <cassert>
#include <cmath>

#include "core/vector_math.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

template <class Real, class Vector>
void add_part(double weight, const Vector& decoded, std::size_t first, std::span<Real> out) {
  const auto add = [weight = static_cast<Real>(weight)](float value, Real& to) {
    to += weight * Real{value};
  };
  if (decoded.dense) {
    const auto* values = decoded.values.data() + first;
    for (std::size_t j = 0; j < out.size(); ++j) add(values[j], out[j]);
    return;
  }
  assert(first % kTileSize == 0);
  const auto tiles = (out.size() + kTileSize - 1) / kTileSize;
  std::size_t begin = 0, end = decoded.indices.size();
  // A vector of one tile needs no look at where tiles start: with thousands of agents every look is
  // a line that is in no cache.
  if (decoded.tile_starts.size() > 2) {
    begin = decoded.tile_starts[first / kTileSize];
    end = decoded.tile_starts[first / kTileSize + tiles];
  }
  for (std::size_t i = begin; i < end; ++i) add(decoded.values[i], out[decoded.indices[i] - first]);
}

template <class Real>
void compress(const Compressor& compressor, std::span<const Real> a, std::span<const Real> b,
              RngStream rng, Message& message, bool travels) {
  if (!travels) {
    message.bytes = compressor.compress_difference(a, b, rng, message.payload, message.decoded);
    return;
  }
  compressor.encode_difference(a, b, rng, message.payload, message.decoded);
  message.bytes = message.payload.size();
}

double norm_of(const Decoded& message) {
  return std::sqrt(squared_norm(std::span<const float>(message.values)));
}

}  // namespace

void compress_difference(const Compressor& compressor, std::span<const double> a,
                         std::span<const double> b, RngStream rng, Message& message, bool travels) {
  compress(compressor, a, b, rng, message, travels);
}

void compress_difference(const Compressor& compressor, std::span<const float> a,
                         std::span<const float> b, RngStream rng, Message& message, bool travels) {
  compress(compressor, a, b, rng, message, travels);
}

void make_silent(Message& message) {
  message.payload.clear();
  message.bytes = 0;
  message.decoded.dense = false;
  message.decoded.indices.clear();
  message.decoded.values.clear();
  message.decoded.tile_starts.clear();
}

void add_decoded(double weight, const Message& message, std::span<double> out) {
  add_part(weight, message.decoded, 0, out);
}

void add_decoded(double weight, const Message& message, std::span<float> out) {
  add_part(weight, message.decoded, 0, out);
}

void add_decoded(double weight, const Message& message, std::size_t first, std::span<double> out) {
  add_part(weight, message.decoded, first, out);
}

void add_decoded(double weight, const Message& message, std::size_t first, std::span<float> out) {
  add_part(weight, message.decoded, first, out);
}

void add_decoded(double weight, const DecodedView& message, std::size_t first,
                 std::span<double> out) {
  add_part(weight, message, first, out);
}

void add_decoded(double weight, const DecodedView& message, std::size_t first,
                 std::span<float> out) {
  add_part(weight, message, first, out);
}

void check_sent(const Decoded& message, double bound, std::size_t agent, std::uint32_t step) {
  const double norm = norm_of(message);
  require(norm <= bound, ErrorKind::numeric, "agent ", agent, " has diverged: its message of step ",
          step, " has norm ", norm, ", and the config allows at most ", bound,
          "; a smaller algorithm.step or algorithm.consensus may help");
}

void check_received(const Decoded& message, double bound, std::uint32_t step) {
  check_received(norm_of(message), bound, step);
}

void check_received(double norm, double bound, std::uint32_t step) {
  require(norm <= bound, ErrorKind::protocol, "a vector of norm ", norm, " in step ", step,
          "; clip, step size, noise and rounds of the config allow at most ", bound);
}

}  // namespace porter
