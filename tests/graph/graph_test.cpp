// SPDX-License-Identifier: Apache-2.0
#include "porter/graph/graph.hpp"

#include <set>

#include "expect_error.hpp"

namespace porter {
namespace {

using Edges = std::vector<Graph::Edge>;

// By matrix powers of the reachability relation: another route than the constructor's.
bool is_connected(const Graph& graph) {
  const std::size_t n = graph.nodes();
  std::vector<std::vector<bool>> reach(n, std::vector<bool>(n, false));
  for (std::size_t i = 0; i < n; ++i) reach[i][i] = true;
  for (const auto& [i, j] : graph.edges()) reach[i][j] = reach[j][i] = true;
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
  for (const auto& row : reach)
    for (const bool reached : row)
      if (!reached) return false;
  return true;
}

std::size_t edge_count(std::string_view spec, std::size_t nodes) {
  return make_graph(spec, nodes, 1).edges().size();
}

TEST(Graph, SortsEdgesAndNeighbours) {
  const Graph graph(4, {{3, 1}, {2, 0}, {1, 0}});
  EXPECT_EQ(graph.edges(), (Edges{{0, 1}, {0, 2}, {1, 3}}));
  EXPECT_EQ(graph.neighbours(0), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(graph.neighbours(3), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(graph.degree(1), 2U);
}

TEST(Graph, RefusesWhatIsNotASimpleConnectedGraph) {
  const auto with = [](std::size_t nodes, const Edges& edges) {
    return [=] { Graph(nodes, edges); };
  };
  expect_error(ErrorKind::usage, {"at least 1", "got 0"}, with(0, {}));
  expect_error(ErrorKind::usage, {"edge 1 1", "itself"}, with(2, {{0, 1}, {1, 1}}));
  expect_error(ErrorKind::usage, {"edge 0 1", "twice"}, with(2, {{0, 1}, {1, 0}}));
  expect_error(ErrorKind::usage, {"edge 0 2", "0 to 1"}, with(2, {{0, 1}, {0, 2}}));
  expect_error(ErrorKind::usage, {"not connected", "node 2", "2 of 4"}, with(4, {{0, 1}, {2, 3}}));
}

TEST(Topology, HasTheEdgesOfItsDefinition) {
  EXPECT_EQ(make_graph("ring", 4, 1).edges(), (Edges{{0, 1}, {0, 3}, {1, 2}, {2, 3}}));
  EXPECT_EQ(make_graph("path", 3, 1).edges(), (Edges{{0, 1}, {1, 2}}));
  EXPECT_EQ(make_graph("star", 4, 1).edges(), (Edges{{0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(make_graph("grid:2x3", 6, 1).edges(),
            (Edges{{0, 1}, {0, 3}, {1, 2}, {1, 4}, {2, 5}, {3, 4}, {4, 5}}));
  EXPECT_EQ(make_graph("hypercube", 4, 1).edges(), (Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  EXPECT_EQ(make_graph("barbell", 5, 1).edges(), (Edges{{0, 1}, {1, 2}, {2, 3}, {2, 4}, {3, 4}}));
  EXPECT_EQ(make_graph("exponential", 9, 1).neighbours(0),
            (std::vector<std::uint32_t>{1, 2, 4, 5, 7, 8}));
  EXPECT_EQ(edge_count("complete", 7), 21U);
  EXPECT_EQ(edge_count("torus:4x5", 20), 40U);
  EXPECT_EQ(edge_count("torus:2x3", 6), 9U);  // two rows meet once, not twice
  EXPECT_EQ(edge_count("barbell", 40), 2 * 190 + 1U);
  EXPECT_EQ(edge_count("hypercube", 64), 64 * 6 / 2U);
}

TEST(Topology, GridWithoutShapeIsTheMostSquare) {
  EXPECT_EQ(make_graph("grid", 12, 1).edges(), make_graph("grid:3x4", 12, 1).edges());
  EXPECT_EQ(make_graph("torus", 36, 1).edges(), make_graph("torus:6x6", 36, 1).edges());
  EXPECT_EQ(make_graph("grid", 7, 1).edges(), make_graph("path", 7, 1).edges());
}

TEST(Topology, AllowsOneAndTwoAgentsWhereThatMakesSense) {
  for (const char* spec : {"erdos-renyi:0.8", "ring", "path", "star", "complete", "grid", "torus",
                           "hypercube", "exponential", "geometric:0.5"}) {
    SCOPED_TRACE(spec);
    EXPECT_EQ(edge_count(spec, 1), 0U);
    EXPECT_EQ(make_graph(spec, 2, 1).edges(), (Edges{{0, 1}}));
  }
  EXPECT_EQ(edge_count("regular:0", 1), 0U);
  EXPECT_EQ(edge_count("regular:1", 2), 1U);
  EXPECT_EQ(edge_count("barbell", 2), 1U);
}

TEST(Topology, RandomGraphsAreConnectedAndFollowTheSeed) {
  for (const std::string spec : {"erdos-renyi:0.12", "regular:2", "regular:3", "geometric:0.3"}) {
    std::set<Edges> seen;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(spec + " seed " + std::to_string(seed));
      const auto graph = make_graph(spec, 30, seed);
      EXPECT_TRUE(is_connected(graph));
      EXPECT_EQ(graph.edges(), make_graph(spec, 30, seed).edges());
      seen.insert(graph.edges());
    }
    EXPECT_EQ(seen.size(), 20U) << spec;
  }
}

TEST(Topology, ErdosRenyiJoinsPairsWithTheGivenProbability) {
  std::size_t edges = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    edges += make_graph("erdos-renyi:0.3", 40, seed).edges().size();
  // 39000 pairs: the standard deviation is 90, and redraws are rare at this p.
  EXPECT_NEAR(static_cast<double>(edges), 0.3 * 50 * 780, 5 * 90);
}

TEST(Topology, RegularGraphsHaveTheDegreeForEveryDegree) {
  for (std::size_t degree = 2; degree < 12; ++degree) {
    const auto graph = make_graph("regular:" + std::to_string(degree), 12, 3);
    for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(graph.degree(i), degree) << "node " << i;
  }
}

TEST(Topology, RegularGraphsAreNotBiasedTowardsTheStartingCircle) {
  // In a random 4-regular graph on 20 nodes a given pair is joined with probability 4/19.
  int joined = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto graph = make_graph("regular:4", 20, seed);
    joined += graph.neighbours(0).front() == 1;
  }
  // 400 draws: mean 84, standard deviation 8.2.
  EXPECT_NEAR(joined, 84, 5 * 8.2);
}

TEST(Topology, ImpossibleCombinationsSayWhatIsWrong) {
  const auto making = [](std::string spec, std::size_t nodes) {
    return [=] { make_graph(spec, nodes, 1); };
  };
  const auto usage = ErrorKind::usage;
  expect_error(usage, {"unknown graph 'loop'", "ring", "geometric"}, making("loop", 4));
  expect_error(usage, {"grid:3x4", "3 x 4", "found 10"}, making("grid:3x4", 10));
  expect_error(usage, {"torus:3x4", "found 10"}, making("torus:3x4", 10));
  expect_error(usage, {"grid:3", "such as 3x4"}, making("grid:3", 3));
  expect_error(usage, {"grid:0x4", "such as 3x4"}, making("grid:0x4", 4));
  expect_error(usage, {"found 4"}, making("grid:4294967296x4294967297", 4));
  expect_error(usage, {"power of two", "found 10"}, making("hypercube", 10));
  expect_error(usage, {"regular:10", "below the number"}, making("regular:10", 10));
  expect_error(usage, {"regular:3", "even", "found 27"}, making("regular:3", 9));
  expect_error(usage, {"regular:1", "at least 2"}, making("regular:1", 4));
  expect_error(usage, {"regular:x", "degree"}, making("regular:x", 4));
  expect_error(usage, {"erdos-renyi:1.5", "(0, 1]", "found 1.5"}, making("erdos-renyi:1.5", 4));
  expect_error(usage, {"erdos-renyi:nan", "probability"}, making("erdos-renyi:nan", 4));
  expect_error(usage, {"argument is missing", "erdos-renyi:0.8"}, making("erdos-renyi", 4));
  expect_error(usage, {"p = 0.001", "n = 100", "at least 0.07"}, making("erdos-renyi:0.001", 100));
  expect_error(usage, {"geometric:-1", "positive"}, making("geometric:-1", 4));
  expect_error(usage, {"radius 0.01", "n = 50", "larger"}, making("geometric:0.01", 50));
  expect_error(usage, {"barbell", "at least 2", "found 1"}, making("barbell", 1));
  expect_error(usage, {"ring takes no argument"}, making("ring:3", 4));
  expect_error(usage, {"1 to 50000 agents", "found 0"}, making("ring", 0));
  expect_error(usage, {"1 to 50000 agents", "found 60000"}, making("ring", 60000));
}

TEST(Topology, RefusesMoreEdgesThanFitIntoMemory) {
  for (const char* spec :
       {"complete", "barbell", "erdos-renyi:0.5", "regular:20000", "geometric:1.5"})
    expect_error(ErrorKind::usage, {spec, "edges"}, [&] { make_graph(spec, 50'000, 1); });
}

}  // namespace
}  // namespace porter
