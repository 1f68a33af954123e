// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace porter {

/// A digest of a vector Q that many agents hold copies of, kept up to date at k changed positions
/// in O(k):
///
///   digest(Q) = sum_j mix(channel, j, bits of Q_j)   modulo 2^64
///
/// The order of changes does not matter. mix is a bijection of the bits of Q_j, so vectors that
/// differ in one entry never have the same digest; vectors that differ in several have it with a
/// chance of about 2^-64. It finds faults; it does not stop a peer who wants to deceive. A Q in
/// float counts as the doubles it widens to.
///
///   digest.remove(indices, Q);   Q[indices] changes;   digest.add(indices, Q);
class ReplicaDigest {
 public:
  /// `channel` tells the vectors of one message apart; the digests of all may be summed up.
  explicit ReplicaDigest(std::span<const double> q, std::uint32_t channel = 0);
  explicit ReplicaDigest(std::span<const float> q, std::uint32_t channel = 0);

  void remove(std::span<const std::uint32_t> indices, std::span<const double> q);
  void remove(std::span<const std::uint32_t> indices, std::span<const float> q);
  void add(std::span<const std::uint32_t> indices, std::span<const double> q);
  void add(std::span<const std::uint32_t> indices, std::span<const float> q);
  /// After a change everywhere: O(d).
  void recompute(std::span<const double> q);
  void recompute(std::span<const float> q);

  std::uint64_t value() const { return sum_; }
  friend bool operator==(const ReplicaDigest&, const ReplicaDigest&) = default;

 private:
  template <class Real>
  std::uint64_t sum_at(std::span<const std::uint32_t> indices, std::span<const Real> q) const;
  template <class Real>
  std::uint64_t sum_of(std::span<const Real> q) const;

  std::uint64_t channel_key_;
  std::uint64_t sum_ = 0;
};

}  // namespace porter
