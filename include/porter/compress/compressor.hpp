// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "porter/core/bytes.hpp"
#include "porter/core/rng.hpp"
#include "porter/core/rows.hpp"

namespace porter {

/// C(x) as it comes off the wire. Dense: `values` has all d entries and `indices` is empty. Sparse:
/// values[i] stands at position indices[i], positions strictly ascending, zero elsewhere.
struct Decoded {
  bool dense = false;
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  /// Sparse: the entries at positions t kTileSize to (t + 1) kTileSize are those from
  /// tile_starts[t] to tile_starts[t + 1]. Dense: empty.
  std::vector<std::uint32_t> tile_starts;
};

/// A compression operator C with  E|C(x) - x|^2 <= (1 - rho) |x|^2  (Definition 3 of the paper),
/// and, where it is unbiased,  E C(x) = x  and  E|C(x) - x|^2 <= omega |x|^2.
///
/// Immutable, so one object serves all agents and threads. Randomness comes in through the stream:
/// the sender and every receiver hold the same public one, so a random mask is redrawn and never
/// travels.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// Replaces `payload` by C(x) as the exact bytes to send, a checksum included: what we count as
  /// communicated is what travels. x has 1 to 2^32 - 1 entries. Error{numeric} if an entry is not
  /// finite or C(x) leaves the range of float.
  void encode(std::span<const float> x, RngStream rng, Payload& payload) const;

  /// encode and decode in one step, for a sender: `payload` is C(a - b), the difference rounded to
  /// float, and `out` is what every receiver decodes from it; both have exactly the bits that
  /// encode and decode give. A sparsifier that draws its positions without looking at the vector
  /// reads only those, so there only an entry that is kept is checked to be finite. A payload and
  /// an `out` that are used again are not allocated again.
  void encode_difference(std::span<const double> a, std::span<const double> b, RngStream rng,
                         Payload& payload, Decoded& out) const;
  void encode_difference(std::span<const float> a, std::span<const float> b, RngStream rng,
                         Payload& payload, Decoded& out) const;

  /// The same for a simulation, where the bytes go nowhere: how many they are. Where a sparsifier's
  /// are floats and a checksum they are not made; else `payload` has them.
  std::size_t compress_difference(std::span<const double> a, std::span<const double> b,
                                  RngStream rng, Payload& payload, Decoded& out) const;
  std::size_t compress_difference(std::span<const float> a, std::span<const float> b, RngStream rng,
                                  Payload& payload, Decoded& out) const;

  /// Replaces `out` by the C(x) of a vector of length `dim`. The bytes may come from a stranger:
  /// Error{protocol} if they are truncated, altered, or not finite, and `out` is then unspecified.
  /// `rng` is the stream that the sender encoded with. The sender decodes its own payload too, so
  /// both ends hold the same bits.
  void decode(std::span<const std::byte> payload, std::size_t dim, RngStream rng,
              Decoded& out) const;

  /// The rho in (0, 1] promised for vectors of length `dim` >= 1, or nothing where C is no
  /// contraction (an operator scaled up to be unbiased); the contract test holds us to it.
  virtual std::optional<double> rho(std::size_t dim) const = 0;
  /// The omega >= 0 promised for vectors of length `dim`, or nothing where C is biased.
  virtual std::optional<double> omega(std::size_t dim) const = 0;
  /// How many entries of `dim` are kept, for sparsifiers that keep a fixed number.
  virtual std::optional<std::size_t> kept(std::size_t) const { return std::nullopt; }
  /// The k of a compressor that sends the entries at choose(k, dim, stream) as they are: who draws
  /// for many senders at once can make their messages without it.
  virtual std::optional<std::size_t> plain_subset(std::size_t) const { return std::nullopt; }

 protected:
  /// Replaces `payload` by the body of C(x). `x` comes as a dense vector and leaves as what
  /// decode_body makes of that body.
  virtual void encode_body(RngStream rng, Decoded& x, Payload& payload) const = 0;
  virtual void decode_body(ByteReader& body, std::size_t dim, RngStream rng,
                           Decoded& out) const = 0;
  /// For sparsifiers that do not look at the vector and send the kept floats alone: replaces
  /// `positions` by those that are kept and returns the factor of what is sent.
  virtual std::optional<double> draw_positions(std::size_t, RngStream,
                                               std::vector<std::uint32_t>&) const {
    return std::nullopt;
  }

 private:
  template <class Real>
  bool keep_difference(std::span<const Real> a, std::span<const Real> b, RngStream rng,
                       Decoded& out) const;
  template <class Real>
  void encode_dense_difference(std::span<const Real> a, std::span<const Real> b, RngStream rng,
                               Payload& payload, Decoded& out) const;
  template <class Real>
  void encode_any_difference(std::span<const Real> a, std::span<const Real> b, RngStream rng,
                             Payload& payload, Decoded& out) const;
  template <class Real>
  std::size_t compress_any_difference(std::span<const Real> a, std::span<const Real> b,
                                      RngStream rng, Payload& payload, Decoded& out) const;
};

/// Completes a sparse vector of length `dim` whose positions everybody knows: `payload` becomes its
/// values and a checksum. Error{numeric} if one is not finite.
void seal_floats(std::size_t dim, Payload& payload, Decoded& sparse);
/// The same for a simulation: how many bytes that would be.
std::size_t count_sealed(std::size_t dim, Decoded& sparse);

/// The same without them.
std::size_t sealed_bytes(std::size_t entries);

/// The other end: `sparse` has the positions of a vector of length `dim` and gets the values. The
/// bytes may come from a stranger: Error{protocol} as for Compressor::decode.
void unseal_floats(std::span<const std::byte> payload, std::size_t dim, Decoded& sparse);

/// Builds from text such as "top_k:0.05", "random_k:k=12", "qsgd:4", "identity". `unbiased` asks
/// for E C(x) = x: it scales random_k and bernoulli by d/k, changes nothing where that holds
/// already, and is an error for top_k, gsgd and sign. Error{usage} names the spec, what was
/// expected, and the known compressors.
std::unique_ptr<const Compressor> make_compressor(std::string_view spec, bool unbiased = false);

/// A row of the table that --help, the docs and the contract tests walk.
struct CompressorInfo {
  std::string name;
  std::string example;    ///< a valid spec
  std::string grammar;    ///< the specs it accepts, e.g. "qsgd:BITS"
  std::string help;       ///< one line
  bool dense = false;     ///< sends what it is given
  bool has_mask = false;  ///< whose coordinates agents may share
};
std::vector<CompressorInfo> compressor_table();

}  // namespace porter
