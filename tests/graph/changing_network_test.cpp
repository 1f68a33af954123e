// SPDX-License-Identifier: Apache-2.0
#include "porter/graph/changing_network.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "expect_error.hpp"
#include "graph/absence_trace.hpp"
#include "io/file.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

using Dense = std::vector<std::vector<double>>;  // W_t

Dense dense_of(const StepWeights& step) {
  const auto n = step.incoming.size();
  Dense W(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) {
    W[i][i] += 1;
    for (const auto& [j, weight] : step.incoming[i]) W[j][i] += weight;
  }
  return W;
}

double row_sum(const Dense& W, std::size_t i) { return std::reduce(W[i].begin(), W[i].end()); }
double column_sum(const Dense& W, std::size_t j) {
  double sum = 0;
  for (const auto& row : W) sum += row[j];
  return sum;
}

ChangingNetwork make(const std::string& graph, std::size_t nodes, const std::string& meetings,
                     double dropout, Weighing weighing = Weighing::receivers,
                     std::uint32_t gossip = 1) {
  const auto made = make_graph(graph, nodes, 7);
  return {made,
          make_mixing("metropolis", made).weights,
          {.meetings = parse_meetings(meetings),
           .absences = {dropout, 3},
           .weighing = weighing,
           .seed = 3,
           .gossip = gossip}};
}

// Everything that must hold of a step, whoever makes the weights.
void expect_fits(const StepWeights& step, const std::vector<std::uint32_t>& present) {
  std::vector<std::size_t> receivers(step.incoming.size());
  for (std::uint32_t i = 0; i < step.incoming.size(); ++i) {
    const auto& row = step.incoming[i];
    EXPECT_TRUE(std::ranges::is_sorted(row, {}, &MixingWeight::node));
    EXPECT_TRUE(row.empty() || std::ranges::binary_search(present, i)) << i << " is absent";
    for (const auto& [j, weight] : row) {
      EXPECT_TRUE(std::ranges::binary_search(present, j)) << j << " is absent";
      EXPECT_TRUE(j == i || weight > 0);
      receivers[j] += j != i;
    }
  }
  EXPECT_EQ(receivers, step.receivers);
}

TEST(ChangingNetwork, KeepsSymmetryAndBothSumsWhoeverIsAbsent) {
  for (const char* graph : {"ring", "star", "erdos-renyi:0.5", "complete"})
    for (const char* meetings : {"static", "matching"})
      for (const double dropout : {0.0, 0.1, 0.6}) {
        const auto network = make(graph, 11, meetings, dropout);
        for (std::uint32_t t = 1; t <= 40; ++t) {
          SCOPED_TRACE(concat(graph, " ", meetings, " ", dropout, " step ", t));
          const auto step = network.weights(t);
          expect_fits(step, network.present(t));
          const auto W = dense_of(step);
          for (std::size_t i = 0; i < W.size(); ++i) {
            EXPECT_NEAR(row_sum(W, i), 1, 1e-15);
            for (std::size_t j = 0; j < W.size(); ++j) {
              EXPECT_EQ(W[i][j], W[j][i]);
              EXPECT_GE(W[i][j], 0);
            }
          }
        }
      }
}

TEST(ChangingNetwork, StaticMeetingsWithoutAbsencesAreTheMixingMatrix) {
  const auto graph = make_graph("erdos-renyi:0.5", 9, 2);
  const auto mixing = make_mixing("metropolis", graph);
  const auto W = dense_of(ChangingNetwork(graph, mixing.weights, {}).weights(5));
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t j = 0; j < 9; ++j) EXPECT_NEAR(W[i][j], mixing(i, j), 1e-15);
}

TEST(ChangingNetwork, OnePeerIsDoublyStochasticAndAveragesPowersOfTwoExactly) {
  for (const std::size_t n : {1, 2, 3, 5, 8, 16}) {
    const auto network = make("complete", n, "one-peer", 0);
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i * i);
    const double mean = std::reduce(x.begin(), x.end()) / static_cast<double>(n);
    for (std::uint32_t t = 1; t <= 4; ++t) {
      const auto W = dense_of(network.weights(t));
      auto next = x;
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(row_sum(W, i), 1);
        EXPECT_EQ(column_sum(W, i), 1);
        next[i] = 0;
        for (std::size_t j = 0; j < n; ++j) next[i] += W[j][i] * x[j];
      }
      x = next;
    }
    if ((n & (n - 1)) != 0) continue;
    for (const double value : x) EXPECT_EQ(value, mean) << n;
  }
}

TEST(ChangingNetwork, AnEpidemicKeepsTheSumsOfWhoeverMakesTheWeights) {
  for (const double dropout : {0.0, 0.3})
    for (const char* meetings :
         {"epidemic:1", "epidemic:3", "epidemic:9", "one-peer", "directed-exponential"})
      for (const auto weighing : {Weighing::receivers, Weighing::senders}) {
        const auto network = make("ring", 10, meetings, dropout, weighing);
        for (std::uint32_t t = 1; t <= 30; ++t) {
          SCOPED_TRACE(concat(meetings, " ", dropout, " step ", t));
          const auto step = network.weights(t);
          expect_fits(step, network.present(t));
          const auto W = dense_of(step);
          for (std::size_t i = 0; i < W.size(); ++i)
            EXPECT_NEAR(weighing == Weighing::senders ? row_sum(W, i) : column_sum(W, i), 1, 1e-15);
        }
      }
}

// Arcs one way, the same in every step: a circle, and one agent that sends more than it receives.
TEST(ChangingNetwork, ADirectedGraphIsWhatItsFileSays) {
  const TempDir dir;
  const auto path = (dir / "arcs.txt").string();
  write_file(path, "0 1\n1 2\n2 0\n0 2  # and back\n");
  const auto network = make("ring", 3, "arcs:" + path, 0, Weighing::senders);
  const Dense expected = {{1. / 3, 1. / 3, 1. / 3}, {0, 0.5, 0.5}, {0.5, 0, 0.5}};
  for (const std::uint32_t t : {1U, 2U, 9U}) {
    const auto step = network.weights(t);
    expect_fits(step, network.present(t));
    const auto W = dense_of(step);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(W[i][j], expected[i][j], 1e-15);
  }
}

TEST(ChangingNetwork, DirectedGraphsThatHaveNames) {
  EXPECT_EQ(make_arcs("directed-ring", 3), (std::vector<Arc>{{0, 1}, {1, 2}, {2, 0}}));
  EXPECT_EQ(make_arcs("directed-exponential", 4),
            (std::vector<Arc>{{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 0}, {2, 3}, {3, 0}, {3, 1}}));
  EXPECT_TRUE(make_arcs("directed-ring", 1).empty());
  expect_error(ErrorKind::usage, {"directed-ring", "arcs:FILE", "ring"},
               [] { make_arcs("ring", 3); });
}

TEST(ChangingNetwork, ADirectedGraphHasAWayFromEverybodyToEverybody) {
  const TempDir dir;
  const auto path = (dir / "arcs.txt").string();
  write_file(path, "0 1\n1 2\n0 2\n");
  expect_error(ErrorKind::usage, {path, "not strongly connected", "no way from agent 1 to agent 0"},
               [&] { make_arcs("arcs:" + path, 3); });
  write_file(path, "1 0\n1 2\n2 1\n");
  expect_error(ErrorKind::usage, {"no way from agent 0 to agent 1"},
               [&] { make_arcs("arcs:" + path, 3); });
  expect_error(ErrorKind::io, {"no-such-file"}, [] { make_arcs("arcs:no-such-file", 4); });
}

TEST(ChangingNetwork, AMatchingIsMaximalAndDrawnAnew) {
  const auto graph = make_graph("erdos-renyi:0.5", 12, 7);
  const auto network = make("erdos-renyi:0.5", 12, "matching", 0);
  const auto first = network.weights(1);
  bool changes = false;
  for (std::uint32_t t = 1; t <= 20; ++t) {
    const auto step = network.weights(t);
    for (const auto& [i, j] : graph.edges())
      EXPECT_TRUE(step.receivers[i] == 1 || step.receivers[j] == 1) << i << " " << j;
    changes = changes || step.incoming != first.incoming;
  }
  EXPECT_TRUE(changes);
}

TEST(ChangingNetwork, AgentsAreAbsentForWholeRounds) {
  const auto network = make("complete", 8, "epidemic:7", 0.5, Weighing::receivers, 3);
  for (std::uint32_t round = 1; round <= 20; ++round) {
    const auto present = network.present(round);
    for (std::uint32_t s = 1; s <= 3; ++s) {
      const auto step = network.weights((round - 1) * 3 + s);
      for (std::uint32_t i = 0; i < 8; ++i)
        EXPECT_EQ(step.receivers[i],
                  std::ranges::binary_search(present, i) ? present.size() - 1 : 0);
    }
  }
}

TEST(ChangingNetwork, RefusesWhatWouldDriveAgentsApart) {
  const auto graph = make_graph("ring", 3, 1);
  const std::vector<double> one_way = {.5, .5, 0, 0, .5, .5, .5, 0, .5};
  expect_error(ErrorKind::usage, {"the same both ways", "0.5"},
               [&] { ChangingNetwork(graph, MixingMatrix(3, one_way), {}); });
  const std::vector<double> negative = {.6, .5, -.1, .5, .3, .2, -.1, .2, .9};
  expect_error(ErrorKind::usage, {"weights >= 0", "-0.1", "metropolis"},
               [&] { ChangingNetwork(graph, MixingMatrix(3, negative), {}); });
  expect_error(ErrorKind::usage, {"at most 2 peers", "found 3"}, [&] {
    ChangingNetwork(graph, make_mixing("lazy", graph).weights,
                    {.meetings = parse_meetings("epidemic:3")});
  });
}

TEST(ChangingNetwork, MeetingsAreReadOrRefused) {
  for (const auto& info : meetings_table()) EXPECT_NO_THROW(parse_meetings(info.example));
  for (const char* wrong : {"", "ring", "epidemic", "epidemic:0", "epidemic:-1", "epidemic:x"})
    expect_error(ErrorKind::usage, {"epidemic:K", concat("\"", wrong, "\"")},
                 [&] { parse_meetings(wrong); });
}

TEST(Absences, HaveTheirProbability) {
  const Absences absences(0.3, 11);
  int absent = 0;
  for (std::uint32_t round = 1; round <= 1000; ++round)
    for (std::size_t agent = 0; agent < 20; ++agent) absent += absences(agent, round);
  EXPECT_NEAR(absent / 20000.0, 0.3, 0.015);  // four standard deviations
  EXPECT_FALSE(Absences()(0, 1));
}

TEST(Absences, FollowATrace) {
  TempDir folder;
  const auto file = folder.path() / "away.csv";
  write_file(file, "agent,from,to\r\n2,3,5\n0,1,1\n2,9,9\n\n");
  const auto absences = make_absences("trace:" + file.string(), 3, 1);
  EXPECT_TRUE(absences.any());
  for (std::uint32_t round = 1; round <= 12; ++round) {
    EXPECT_EQ(absences(2, round), (round >= 3 && round <= 5) || round == 9) << round;
    EXPECT_EQ(absences(0, round), round == 1);
    EXPECT_FALSE(absences(1, round));
  }
}

TEST(Absences, SayWhatIsWrong) {
  const auto decode = [](const char* text) { return decode_absences(text, "away.csv", 3); };
  expect_error(ErrorKind::io, {"away.csv:1", "agent,from,to", "0,1,2"}, [&] { decode("0,1,2\n"); });
  expect_error(ErrorKind::io, {"away.csv:2", "'1,2'"}, [&] { decode("agent,from,to\n1,2\n"); });
  expect_error(ErrorKind::io, {"away.csv:2"}, [&] { decode("agent,from,to\n1,2,3,4\n"); });
  expect_error(ErrorKind::usage, {"agent 3", "0 to 2"}, [&] { decode("agent,from,to\n3,1,2\n"); });
  expect_error(ErrorKind::usage, {"5 to 4"}, [&] { decode("agent,from,to\n1,5,4\n"); });
  expect_error(ErrorKind::usage, {"from 1 on"}, [&] { decode("agent,from,to\n1,0,4\n"); });
  for (const char* wrong : {"1", "-0.1", "nan", "often", "trace:", ""})
    expect_error(ErrorKind::usage, {"from 0 to below 1", concat("\"", wrong, "\"")},
                 [&] { make_absences(wrong, 3, 1); });
  EXPECT_TRUE(is_never_absent("0"));
  EXPECT_FALSE(is_never_absent("trace:x.csv"));
}

}  // namespace
}  // namespace porter
