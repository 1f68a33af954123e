// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "porter/algo/algorithm.hpp"

namespace porter {

/// How everybody's vector gets to everybody, one vector per agent and step: plan[s][i] is whose
/// vector agent i sends in step s + 1. All find the same plan from the graph.
std::vector<std::vector<std::uint32_t>> flood_plan(const Graph& graph);

/// A method of one round that optimises nothing: the mean over all records of what they contribute,
/// as noised gradients, the same bits at all agents. With G_i the gradient of agent i, which has
/// m_i records,
///
///   G_i -> everybody, as floats;   X_i <- sum_j m_j G_j / sum_j m_j,   j ascending
///
/// The model's last entry must not be used: it carries m_j, and at the end sum_j m_j. As many
/// gossip steps as the plan has (AlgorithmSetup::gossip); Error{usage} for another number.
std::unique_ptr<Algorithm> make_flood(const AlgorithmSetup& setup);

}  // namespace porter
