// SPDX-License-Identifier: Apache-2.0
#include "report/graph_picture.hpp"

#include <gtest/gtest.h>

namespace porter {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Picture, DrawsEveryNodeAndEdgeOfEveryTopology) {
  for (const auto& topology : graph_table()) {
    if (topology.name == "file") continue;
    SCOPED_TRACE(topology.example);
    const auto graph = make_graph(topology.example, topology.name == "hypercube" ? 16 : 12, 1);
    const auto svg = graph_svg(graph, make_mixing("metropolis", graph));
    EXPECT_TRUE(svg.starts_with("<svg xmlns="));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_EQ(count(svg, "<circle"), graph.nodes());
    EXPECT_EQ(count(svg, "<title>"), 1 + graph.nodes() + graph.edges().size());
    EXPECT_EQ(count(svg, "\"nan") + count(svg, "inf"), 0U);
    EXPECT_EQ(svg, graph_svg(graph, make_mixing("metropolis", graph)));
  }
}

TEST(Picture, WorksForOneAndManyAgents) {
  for (const std::size_t nodes : {1, 2, 3, 300}) {
    const auto graph = make_graph("ring", nodes, 1);
    const auto svg = graph_svg(graph, make_mixing("fdla", graph));
    EXPECT_EQ(count(svg, "<circle"), nodes);
    EXPECT_EQ(count(svg, "\"nan") + count(svg, "inf"), 0U);
  }
}

TEST(Picture, DrawsASampleOfAHugeGraphAndSaysSo) {
  const auto graph = make_graph("regular:4", 3000, 1);
  const auto svg = graph_svg(graph, make_mixing("metropolis", graph));
  EXPECT_EQ(count(svg, "<circle"), 2000U);
  EXPECT_EQ(count(svg, "<title>"), 1U + 2000 + 5000);
  EXPECT_EQ(count(svg, "drawn: 2000 of 3000 agents, 5000 of 6000 edges"), 1U);
}

TEST(Picture, MarksNegativeWeightsAndLabelsSmallGraphs) {
  const Graph graph(3, {{0, 1}, {1, 2}, {0, 2}});
  Mixing w;
  w.weights = MixingMatrix(3, std::vector<double>{0.7, 0.5, -0.2, 0.5, 0.1, 0.4, -0.2, 0.4, 0.8});
  w.method = "by hand";
  const auto svg = graph_svg(graph, w);
  EXPECT_EQ(count(svg, "edge minus"), 2U);  // the edge and its legend
  EXPECT_EQ(count(svg, ">-0.200</text>"), 1U);
  EXPECT_EQ(count(svg, ">0.400</text>"), 1U);
  EXPECT_EQ(count(svg, "by hand"), 1U);
}

}  // namespace
}  // namespace porter
