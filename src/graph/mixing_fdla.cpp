// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "fdla.hpp"
#include "mixing_rules.hpp"
#include "porter/core/error.hpp"
#include "topologies.hpp"

namespace porter {
namespace {

// Beyond these, one solution takes minutes and 300 MB.
constexpr std::size_t kMaxFdlaEdges = 6000, kMaxFdlaNodes = 1000;
constexpr double kPromisedGap = 1e-6;

// On an edge-transitive graph averaging W over the automorphisms makes all weights equal and, as
// the rate is convex, no slower: the best constant is optimal (Boyd, Diaconis, Parrilo and Xiao
// 2009). Known by their numbering: complete, star, ring, square torus, hypercube.
bool is_known_edge_transitive(const Graph& graph) {
  const std::size_t n = graph.nodes(), m = graph.edges().size();
  if (m == n * (n - 1) / 2) return true;
  const auto [smallest, largest] = degrees_of(graph);
  if (m == n - 1 && largest == n - 1) return true;  // star
  if (smallest == 2 && largest == 2) return true;   // ring
  if (std::has_single_bit(n) && graph.edges() == hypercube_edges(n)) return true;
  const auto torus = torus_shape(graph);
  return torus && torus->rows == torus->columns;
}

}  // namespace

Mixing mix_fdla(const Graph& graph, const Spec& spec) {
  if (is_known_edge_transitive(graph)) {
    auto mixing = mix_best_constant(graph, spec);
    mixing.method = "fdla (closed form)";
    mixing.alpha_lower_bound = mixing.alpha;
    return mixing;
  }
  if (graph.edges().size() > kMaxFdlaEdges || graph.nodes() > kMaxFdlaNodes) {
    auto mixing = mix_best_constant(graph, spec);
    const auto note = concat("fdla solves graphs of up to ", kMaxFdlaNodes, " nodes and ",
                             kMaxFdlaEdges, " edges; this one has ", graph.nodes(), " and ",
                             graph.edges().size(), ", so best-constant was used instead");
    mixing.note = mixing.note.empty() ? note : note + "; " + mixing.note;
    return mixing;
  }
  const auto start = best_constant(graph);
  const auto solution = solve_fdla(graph, start.weight, start.rate);
  auto mixing = mixing_from_edges(graph, solution.edge_weights, "fdla");
  mixing.iterations = solution.iterations;
  mixing.alpha_lower_bound = std::min(solution.lower_bound, mixing.alpha);
  const double gap = mixing.alpha - *mixing.alpha_lower_bound;
  if (gap > kPromisedGap)
    mixing.note =
        concat("the solver stopped early: alpha may be up to ", gap, " above the optimum");
  return mixing;
}

}  // namespace porter
