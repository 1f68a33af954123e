// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace porter {

/// A digest of a vector Q that many agents hold copies of:
///
///   digest(Q) = sum_j mix(channel, j, bits of Q_j)   modulo 2^64
///
/// mix is a bijection of the bits of Q_j, so vectors that differ in one entry never have the same
/// digest; vectors that differ in several have it with a chance of about 2^-64. It finds faults; it
/// does not stop a peer who wants to deceive. It is of bits: 0.0 and -0.0 differ, and so may two
/// NaN. A Q in float counts as the doubles it widens to.
/// `channel` tells the vectors of one message apart; the digests of all may be summed up, and so
/// may those of a vector's parts: `first` is the number of q's first entry.
std::uint64_t replica_digest(std::span<const double> q, std::uint32_t channel = 0,
                             std::size_t first = 0);
std::uint64_t replica_digest(std::span<const float> q, std::uint32_t channel = 0,
                             std::size_t first = 0);

}  // namespace porter
