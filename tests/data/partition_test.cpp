// SPDX-License-Identifier: Apache-2.0
#include "porter/data/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "data/dirichlet.hpp"
#include "data/summary.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

const std::vector<std::string> kSplits = {"shuffled",      "contiguous",     "by-label",
                                          "dirichlet:0.5", "dirichlet:1e-6", "dirichlet:1e6"};

// `rows` rows whose classes 0, 1, 2 come in a fixed irregular order, about 1 : 2 : 3.
Dataset three_classes(std::size_t rows) {
  Dataset data;
  data.features = 1;
  data.classes = {"-1", "0", "5"};
  for (std::size_t i = 0; i < rows; ++i) {
    data.values.push_back(static_cast<float>(i));
    const auto die = i * 7919 % 6;
    data.labels.push_back(die < 1 ? 0.0F : die < 3 ? 1.0F : 2.0F);
  }
  return data;
}

TEST(Partition, HandsOutEveryRowAtMostOnceInEqualShares) {
  for (const auto& split : kSplits)
    for (const std::size_t rows : {7, 60, 601})
      for (const std::size_t agents : {1, 2, 7}) {
        SCOPED_TRACE(split + " rows=" + std::to_string(rows) + " agents=" + std::to_string(agents));
        const auto order = partition_rows(three_classes(rows), agents, parse_split(split), 3);
        EXPECT_EQ(order.size(), rows / agents * agents);
        EXPECT_EQ(std::set<std::uint32_t>(order.begin(), order.end()).size(), order.size());
        EXPECT_LT(*std::max_element(order.begin(), order.end()), rows);
      }
}

TEST(Partition, DependsOnTheSeedOnlyWhereItIsRandom) {
  const auto data = three_classes(300);
  for (const auto& split : kSplits) {
    SCOPED_TRACE(split);
    const auto first = partition_rows(data, 5, parse_split(split), 1);
    EXPECT_EQ(first, partition_rows(data, 5, parse_split(split), 1));
    EXPECT_EQ(first == partition_rows(data, 5, parse_split(split), 2),
              split == "contiguous" || split == "by-label");
  }
}

TEST(Partition, ContiguousKeepsTheOrder) {
  const auto rows = partition_rows(three_classes(11), 2, parse_split("contiguous"), 1);
  std::vector<std::uint32_t> expected(10);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(rows, expected);
}

TEST(Partition, ByLabelSortsStably) {
  const auto data = three_classes(100);
  const auto rows = partition_rows(data, 1, parse_split("by-label"), 1);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto before = std::pair(data.labels[rows[i - 1]], rows[i - 1]);
    EXPECT_LT(before, std::pair(data.labels[rows[i]], rows[i])) << i;
  }
}

// Mean over agents of the share of the agent's commonest class.
double skew(const Dataset& data, const std::string& split) {
  constexpr std::size_t kAgents = 10;
  const auto rows = partition_rows(data, kAgents, parse_split(split), 1);
  const auto m = rows.size() / kAgents;
  double sum = 0;
  for (std::size_t agent = 0; agent < kAgents; ++agent) {
    const auto counts = class_counts(data, std::span(rows).subspan(agent * m, m));
    sum += static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  }
  return sum / static_cast<double>(rows.size());
}

TEST(Partition, DirichletSkewGrowsAsAFalls) {
  const auto data = three_classes(6000);
  // 0.5 is the share of the commonest class of all rows, so no skew means 0.5; at A = 0.01 nearly
  // every agent asks for one class only, but the shares of the last agents are what is left.
  EXPECT_LT(skew(data, "shuffled"), 0.55);
  EXPECT_LT(skew(data, "dirichlet:100"), skew(data, "dirichlet:1"));
  EXPECT_LT(skew(data, "dirichlet:1"), skew(data, "dirichlet:0.01"));
  EXPECT_GT(skew(data, "dirichlet:0.01"), 0.85);
}

// The runs of the agents without the places that are nobody's.
std::vector<std::vector<std::uint32_t>> holdings(const std::vector<std::uint32_t>& rows,
                                                 std::size_t agents) {
  const auto m = static_cast<std::ptrdiff_t>(rows.size() / agents);
  std::vector<std::vector<std::uint32_t>> held;
  for (auto run = rows.begin(); run != rows.end(); run += m) {
    const auto end = std::find(run, run + m, kNoRow);
    EXPECT_EQ(std::count(end, run + m, kNoRow), run + m - end);  // behind the rows only
    held.emplace_back(run, end);
  }
  return held;
}

TEST(Partition, UnequalSharesHandOutEveryRowOnce) {
  for (const char* split : {"sizes:5,3,2", "sizes:1,1e-1,1", "quantity:0.5", "quantity:100"}) {
    SCOPED_TRACE(split);
    const auto held = holdings(partition_rows(three_classes(101), 3, parse_split(split), 3), 3);
    std::set<std::uint32_t> all;
    std::size_t most = 0;
    for (const auto& rows : held) {
      all.insert(rows.begin(), rows.end());
      most = std::max(most, rows.size());
    }
    EXPECT_EQ(all.size(), 101U);
    EXPECT_EQ(held[0].size() + held[1].size() + held[2].size(), 101U);
    EXPECT_EQ(most, partition_rows(three_classes(101), 3, parse_split(split), 3).size() / 3);
  }
  const auto held =
      holdings(partition_rows(three_classes(100), 3, parse_split("sizes:5,3,2"), 1), 3);
  EXPECT_EQ(held[0].size(), 50U);
  EXPECT_EQ(held[1].size(), 30U);
  EXPECT_EQ(held[2].size(), 20U);
}

TEST(Partition, PlacesOfNobodyHoldRowsThatDoNotCount) {
  const auto data = three_classes(10);
  const auto rows = partition_rows(data, 2, parse_split("sizes:4,1"), 1);
  const auto dealt = dealt_rows(data, 2, rows);
  ASSERT_EQ(dealt.rows(), 16U);
  EXPECT_EQ(dealt.void_rows(), 6U);
  for (std::size_t place = 0; place < 16; ++place) {
    EXPECT_EQ(dealt.is_void(place), rows[place] == kNoRow);
    const auto row = rows[place] == kNoRow ? rows[8] : rows[place];  // of the same agent
    EXPECT_EQ(dealt.values[place], data.values[row]);
    EXPECT_EQ(dealt.labels[place], data.labels[row]);
  }
  EXPECT_TRUE(dealt_rows(data, 2, partition_rows(data, 2, {}, 1)).voids.empty());
}

TEST(Partition, SplitsAreReadAsTheyAreWritten) {
  for (const char* split :
       {"shuffled", "by-label", "dirichlet:0.5", "sizes:0.5,0.25,1.5", "sizes:1.0", "quantity:3.5"})
    EXPECT_EQ(to_string(parse_split(split)), split);
}

TEST(Partition, RefusesWhatCannotBe) {
  const auto data = three_classes(5);
  const auto error = [&](std::size_t agents, std::string_view split, const Dataset& set) {
    try {
      partition_rows(set, agents, parse_split(split), 1);
    } catch (const Error& caught) {
      EXPECT_EQ(caught.kind(), ErrorKind::usage);
      return std::string(caught.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error(6, "shuffled", data),
            "network.agents: expected at most 5, as many as there are training rows, found 6");
  EXPECT_EQ(error(0, "shuffled", data), "network.agents: expected at least 1, found 0");
  EXPECT_EQ(error(2, "random", data),
            "expected shuffled, contiguous, by-label, dirichlet:A, sizes:S,S,... or quantity:A, "
            "found \"random\"");
  for (const auto* split : {"dirichlet:", "dirichlet:0", "dirichlet:-1", "dirichlet:nan",
                            "dirichlet:inf", "dirichlet:x", "dirichlet:1e-7"})
    EXPECT_EQ(error(2, split, data),
              std::string("expected dirichlet:A with A from 1e-6 to 1e6, found \"") + split + "\"");
  for (const auto* split : {"sizes:", "sizes", "sizes:1,", "sizes:1,0", "sizes:1,-1", "sizes:1,,2",
                            "sizes:inf,1", "sizes:1;2"})
    EXPECT_EQ(error(2, split, data),
              std::string("expected sizes:S,S,... with a number above 0 for each agent, found \"") +
                  split + "\"");
  EXPECT_EQ(error(2, "sizes:1,2,3", data),
            "data.split: expected 2 sizes, as many as there are agents, found 3 in "
            "\"sizes:1.0,2.0,3.0\"");
  EXPECT_EQ(error(2, "sizes:1,100", data),
            "data.split: \"sizes:1.0,100.0\" leaves agent 0 without any of the 5 rows");
  EXPECT_EQ(error(2, "quantity:0", data),
            "expected quantity:A with A from 1e-6 to 1e6, found \"quantity:0\"");
  auto regression = data;
  regression.classes.clear();
  EXPECT_EQ(error(2, "dirichlet:1", regression),
            "data.split: dirichlet splits by class, but the labels are targets of a regression");
  EXPECT_EQ(error(2, "by-label", regression), "no error");
}

TEST(Dirichlet, GammaVariatesHaveTheMomentsOfTheirLaw) {
  constexpr int kDraws = 20000;
  for (const double alpha : {0.3, 1.0, 7.5}) {
    RngStream rng(1, Draw::test, 0, 0);
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = std::exp(log_gamma_variate(alpha, rng));
      sum += x;
      squares += x * x;
    }
    const double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    // Mean and variance are both alpha. Five standard errors: sqrt(alpha / draws) for the mean,
    // sqrt((6 alpha + 2 alpha^2) / draws) for the variance.
    EXPECT_NEAR(mean, alpha, 5 * std::sqrt(alpha / kDraws)) << alpha;
    EXPECT_NEAR(variance, alpha, 5 * std::sqrt((6 * alpha + 2 * alpha * alpha) / kDraws)) << alpha;
  }
}

TEST(Dirichlet, TakesTheWantedNumberFromWhatIsLeft) {
  using Counts = std::vector<std::size_t>;
  EXPECT_EQ(take_counts(std::vector{0.5, 0.5}, 10, Counts{100, 100}), (Counts{5, 5}));
  EXPECT_EQ(take_counts(std::vector{0.9, 0.1}, 10, Counts{3, 100}), (Counts{3, 7}));
  EXPECT_EQ(take_counts(std::vector{1.0, 0.0, 0.0}, 10, Counts{2, 4, 8}), (Counts{2, 3, 5}));
  EXPECT_EQ(take_counts(std::vector{0.6, 0.4}, 7, Counts{3, 4}), (Counts{3, 4}));
  EXPECT_EQ(take_counts(std::vector{0.34, 0.33, 0.33}, 2, Counts{9, 9, 9}), (Counts{1, 1, 0}));
}

}  // namespace
}  // namespace porter
