// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "porter/algo/algorithm.hpp"

namespace porter {

/// What the step of a scripted method works with.
class ScriptedRound {
 public:
  virtual ~ScriptedRound() = default;
  virtual std::uint32_t number() const = 0;
  /// Keeps all rows that are handed out here.
  virtual std::shared_ptr<const void> storage() const = 0;
  virtual Rows& rows() = 0;  ///< X
  /// A matrix that the method asked for.
  virtual Rows& matrix(const std::string& name) = 0;
  /// The agents' gradients at these rows, clipped and noised as configured. They are what a round
  /// releases, so they can be had once: Error{privacy} after that.
  virtual const Rows& gradients(const Rows& at) = 0;
  /// Q <- Q + C(V - Q), in bytes that are counted, and then (W - I)^T Q. The first call of a round
  /// has the first channel's Q, and so on. Valid until the next call for this channel.
  virtual const Rows& mix(const Rows& V) = 0;
};

/// A method whose step is a function, for methods that are written in a script or in a few lines.
struct ScriptedMethod {
  std::function<void(ScriptedRound&)> step;
  /// Where the Q of each channel starts, one for each call of `mix` in a round, two at most.
  enum class From { zero, start };
  std::vector<From> channels = {From::start};
  std::vector<std::string> matrices =
      {};  ///< further ones, which start at zero; checkpoints have them
};

/// In one process only: Error{usage} for agents elsewhere.
std::unique_ptr<Algorithm> make_scripted(const AlgorithmSetup& setup, ScriptedMethod method);

}  // namespace porter
