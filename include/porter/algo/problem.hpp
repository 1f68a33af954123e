// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "porter/data/dataset.hpp"
#include "porter/graph/graph.hpp"
#include "porter/graph/mixing.hpp"
#include "porter/model/model.hpp"

namespace porter {

/// What the agents minimise together: f(x) = mean over all rows of the model's loss. Agent i holds
/// rows [i m, (i + 1) m) of the training set. Views: the owner outlives them.
struct Problem {
  const Model& model;
  const Dataset& train;
  std::size_t agents;
  std::optional<std::uint32_t> holder = std::nullopt;  ///< the only agent whose rows these are

  std::size_t samples_per_agent() const { return holder ? train.rows() : train.rows() / agents; }
  std::size_t first_row(std::size_t agent) const {
    return holder ? 0 : agent * samples_per_agent();
  }
  Sample sample(std::size_t agent, std::size_t index) const {
    return train[first_row(agent) + index];
  }
  /// Whether that sample counts for nothing.
  bool is_void(std::size_t agent, std::size_t index) const {
    return train.is_void(first_row(agent) + index);
  }
};

/// Who talks to whom, and with what weights.
struct Network {
  Graph graph;
  Mixing mixing;
};

/// Who gets the messages of each agent: its neighbours.
std::vector<std::vector<std::uint32_t>> listeners(const Graph& graph);

}  // namespace porter
