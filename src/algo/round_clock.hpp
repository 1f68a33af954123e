// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "porter/algo/gradients.hpp"

namespace porter {

/// Turns gossip steps into seconds. Agents wait for their neighbours, not for everybody: with T_i
/// when agent i has done all steps so far, c_i its gradient (in the first step of a round, else 0)
/// and b_j the bytes of all copies that j sends,
///
///   T_i <- max(T_i + c_i,  max over senders j of  T_j + c_j + b_j / bandwidth + latency)
///
/// without the second c_j in a first step whose message needs no gradient (Pace::overlaps). Who is
/// absent goes on with the first of the others. The seconds of a run are the largest T_i.
class RoundClock {
 public:
  RoundClock(const Pace& pace, std::size_t agents, std::uint64_t seed, std::uint32_t gossip);

  /// Gossip step 1, 2, ...: who takes part, ascending; whose messages reach each agent; what each
  /// sends, every copy counted. The seconds since the start.
  double step(std::uint32_t step, std::span<const std::uint32_t> present,
              std::span<const std::vector<MixingWeight>> incoming,
              std::span<const std::uint64_t> sent_bytes);

  void append_state(std::vector<NamedRows>& state) { state.push_back({"clock", &T_}); }

 private:
  double& at(std::size_t agent) { return T_.row(agent)[0]; }
  double gradient_seconds(std::uint32_t agent, std::uint32_t round) const;

  Pace pace_;
  std::uint64_t seed_;
  std::uint32_t gossip_;
  Rows T_;  // n x 1
};

}  // namespace porter
