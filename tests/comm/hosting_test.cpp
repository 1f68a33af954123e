// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/transport.hpp"

#include <gtest/gtest.h>

#include "porter/core/error.hpp"

namespace porter {
namespace {

using List = std::vector<std::uint32_t>;

const std::vector<List> kPath = {{1}, {0, 2}, {1, 3}, {2, 4}, {3}};

std::string hosting_refusal(const List& process_of, const std::vector<List>& listeners) {
  try {
    Hosting(process_of, listeners);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "accepted";
}

TEST(Hosting, KnowsWhoHearsWhomAcrossProcesses) {
  const Hosting hosting({0, 0, 1, 1, 2}, kPath);
  EXPECT_EQ(hosting.processes(), 3U);
  EXPECT_EQ(hosting.hosted(1), (List{2, 3}));
  EXPECT_EQ(hosting.targets(0), List{});
  EXPECT_EQ(hosting.targets(1), List{1});
  EXPECT_EQ(hosting.targets(3), List{2});
  EXPECT_EQ(hosting.sources(0), List{2});
  EXPECT_EQ(hosting.sources(1), (List{1, 4}));
  EXPECT_EQ(hosting.neighbours(1), (List{0, 2}));
  EXPECT_EQ(hosting.describe(1), "process 1 (agents 2, 3)");
  EXPECT_EQ(hosting.describe(2), "process 2 (agent 4)");
}

TEST(Hosting, SendsAMessageOncePerProcess) {
  const Hosting hosting({0, 1, 1, 1}, {{1, 2, 3}, {0}, {0}, {0}});
  EXPECT_EQ(hosting.targets(0), List{1});
  EXPECT_EQ(hosting.sources(0), (List{1, 2, 3}));
}

TEST(Hosting, BlocksDifferByAtMostOneAgent) {
  for (std::size_t n = 1; n <= 12; ++n)
    for (std::size_t processes = 1; processes <= n; ++processes) {
      const auto hosting = host_in_blocks(std::vector<List>(n), processes);
      ASSERT_EQ(hosting.processes(), processes);
      std::uint32_t next = 0;
      for (std::size_t p = 0; p < processes; ++p) {
        const auto size = hosting.hosted(p).size();
        EXPECT_TRUE(size == n / processes || size == n / processes + 1) << n << " " << processes;
        for (const auto agent : hosting.hosted(p)) EXPECT_EQ(agent, next++);
      }
      EXPECT_EQ(next, n);
    }
  EXPECT_THROW(host_in_blocks(kPath, 0), Error);
  EXPECT_THROW(host_in_blocks(kPath, 6), Error);
}

TEST(Hosting, RefusesWhatCannotBe) {
  EXPECT_EQ(hosting_refusal({}, {}), "hosting: 0 agents have 0 lists of listeners");
  EXPECT_EQ(hosting_refusal({0, 2, 2}, {{1}, {0}, {}}), "hosting: process 1 has no agent");
  EXPECT_EQ(hosting_refusal({0, 7}, {{1}, {0}}),
            "hosting: 8 processes for 2 agents; each needs at least one");
  EXPECT_EQ(hosting_refusal({0, 1}, {{2}, {0}}), "hosting: agent 0 cannot be heard by agent 2");
  EXPECT_EQ(hosting_refusal({0, 1}, {{0}, {0}}), "hosting: agent 0 cannot be heard by agent 0");
  EXPECT_EQ(hosting_refusal({0, 1}, {{1}, {}}),
            "hosting: process 1 hears process 0, which does not hear it");
}

}  // namespace
}  // namespace porter
