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
            "expected shuffled, contiguous, by-label or dirichlet:A, found \"random\"");
  for (const auto* split : {"dirichlet:", "dirichlet:0", "dirichlet:-1", "dirichlet:nan",
                            "dirichlet:inf", "dirichlet:x", "dirichlet:1e-7"})
    EXPECT_EQ(error(2, split, data),
              std::string("expected dirichlet:A with A from 1e-6 to 1e6, found \"") + split + "\"");
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
