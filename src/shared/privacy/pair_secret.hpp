// SPDX-License-Identifier: Apache-2.0
// What two agents in different processes draw the noise from that they share.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "privacy/secret_stream.hpp"

namespace porter {

using SecretKey = SecretBytes<32>;
using PublicKey = std::array<std::byte, 32>;

/// A fresh key of X25519 (RFC 7748), for one pair of agents in one run. Error{privacy} without
/// entropy.
SecretKey make_private_key(EntropySource entropy = system_entropy);
PublicKey public_key(const SecretKey& key);

/// One of the two, as both know it.
struct PairEnd {
  std::uint32_t agent = 0;
  std::string name;
  PublicKey key = {};
};

/// The secret that only these two have: HKDF-SHA256 (RFC 5869) of what X25519 makes of the key here
/// and the public key there, with run, names, numbers and public keys of both in it, the lower
/// agent first. Nothing public, the seed above all, tells anything of it. Error{protocol} names the
/// other end where its key is a point of low order, with which there is no secret, or is our own.
SecretKey agree(const SecretKey& key, const std::string& run, const PairEnd& here,
                const PairEnd& there);

/// The secret of a pair as it goes from round to round:  key_1 = the secret,  stream_t =
/// HKDF-Expand(key_t, t),  key_(t+1) = HKDF-Expand(key_t). So the stream of a round depends on its
/// number and on nothing that happened before; what is held at round t tells no earlier stream; and
/// no round is drawn twice: two gradients under one noise would tell their difference.
class PairChain {
 public:
  /// The key of a round, from which on rounds can be drawn.
  explicit PairChain(SecretKey key, std::uint32_t round = 1)
      : key_(std::move(key)), round_(round) {}

  /// The words of that round. Error{privacy} for one that was drawn or skipped.
  NoiseStream draw(std::uint32_t round);
  /// Rounds before this one cannot be drawn any more; nothing where that is so already.
  void skip_to(std::uint32_t round);

  const SecretKey& key() const { return key_; }
  std::uint32_t round() const { return round_; }

 private:
  SecretKey key_;
  std::uint32_t round_;
};

}  // namespace porter
