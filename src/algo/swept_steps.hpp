// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "chebyshev.hpp"
#include "message_link.hpp"
#include "porter/core/error.hpp"

namespace porter {

/// How far a gossip step of a sweep moves an agent's coordinates J: (W - I)^T q with the floats q
/// that were sent, or, accelerated, a Chebyshev step with it.
class SweptSteps {
 public:
  /// The link outlives it. Error{usage} where a network changes and is to be accelerated.
  SweptSteps(const AlgorithmSetup& setup, const MessageLink& link)
      : link_(link), gossip_(setup.gossip), moved_(link.channels()) {
    if (setup.acceleration == Acceleration::chebyshev) {
      require(!setup.neighbours().changing, ErrorKind::usage,
              "algorithm.acceleration: \"chebyshev\" needs one W, and this network changes");
      chebyshev_ = chebyshev_steps(setup.neighbours().mixing, gossip_);
    }
    for (auto& channel : moved_) channel.resize(setup.problem.agents);
  }

  /// Entry by entry of the link's positions, when its messages are in. Valid until the next call
  /// for the same agent and channel; agents on any thread.
  std::span<const double> move(std::size_t agent, std::size_t channel) {
    auto& moved = moved_[channel][agent];
    const auto step = (link_.step() - 1) % gossip_;
    const bool goes_on = !chebyshev_.steps.empty() && step > 0;
    const auto [momentum, gain] =
        chebyshev_.steps.empty() ? ChebyshevSteps::Step{0, 1} : chebyshev_.steps[step];
    moved.resize(link_.positions().size());
    for (auto& value : moved) value = goes_on ? momentum * value : 0;
    for (const auto& [sender, weight] : link_.incoming(agent)) {
      const auto& q = link_.message(channel, sender).decoded.values;
      const double share = gain * weight;
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += share * double{q[i]};
    }
    return moved;
  }

  /// The least eigenvalue that all steps of a round together may have, or nothing where each has
  /// W's.
  std::optional<double> lowest() const {
    if (chebyshev_.steps.empty()) return std::nullopt;
    return -chebyshev_.rate;
  }

 private:
  const MessageLink& link_;
  std::uint32_t gossip_;
  ChebyshevSteps chebyshev_;                             // no steps: not accelerated
  std::vector<std::vector<std::vector<double>>> moved_;  // per channel and agent, the last step
};

}  // namespace porter
