// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/text.hpp"
#include "porter/graph/mixing.hpp"

namespace porter {

// One function per rule; the table in registry.cpp lists them.
Mixing mix_fdla(const Graph& graph, const Spec& spec);
Mixing mix_best_constant(const Graph& graph, const Spec& spec);
Mixing mix_metropolis(const Graph& graph, const Spec& spec);
Mixing mix_max_degree(const Graph& graph, const Spec& spec);
Mixing mix_lazy(const Graph& graph, const Spec& spec);
Mixing mix_average(const Graph& graph, const Spec& spec);
Mixing mix_from_file(const Graph& graph, const Spec& spec);

/// The constant weight c = 2 / (l_2 + l_n) that makes I - c L fastest, and the rate
/// (l_n - l_2) / (l_n + l_2) it has; l_2 and l_n are the smallest non-zero and the largest
/// eigenvalue of the Laplacian. At least 2 nodes.
struct BestConstant {
  double weight, rate;
};
BestConstant best_constant(const Graph& graph);

/// Fills in what is known of alpha.
void set_rate(Mixing& mixing, const MixingRate& rate);

/// The symmetric W with these weights on graph.edges(), its rows completed to the sum 1.
Mixing mixing_from_edges(const Graph& graph, std::span<const double> edge_weights,
                         std::string method);

}  // namespace porter
