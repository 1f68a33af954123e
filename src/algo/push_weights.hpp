// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "message_link.hpp"
#include "team.hpp"

namespace porter {

/// How much of what all push an agent holds: the w of push-sum, n x 1. They start at 1 and move as
/// what is pushed does,
///
///   w <- w + gamma (W_t - I)^T w
///
/// so that X / w, agent by agent, does not depend on how much it is. Every process knows the w of
/// all agents, as W_t is public, and finds them again where it goes on.
class PushWeights {
 public:
  /// Team and link outlive it.
  PushWeights(const Team& team, const MessageLink& link, double gamma)
      : team_(team), link_(link), gamma_(gamma), w_(team.agents, 1) {}

  /// Gossip step 1, 2, ..., when the link has started it.
  void move(std::uint32_t step);
  /// z = x / w of the agent.
  void divide(std::size_t agent, std::span<const double> x, std::span<double> z) const;
  Rows& rows() { return w_; }

 private:
  template <class Incoming>
  void move_by(const Incoming& incoming);

  const Team& team_;
  const MessageLink& link_;
  double gamma_;
  Rows w_;
  std::uint32_t step_ = 0;  // that w is of
};

}  // namespace porter
