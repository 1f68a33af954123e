// SPDX-License-Identifier: Apache-2.0
// Copies of others' surrogates that went wrong: found, asked for and replaced.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <variant>

#include "exchange_runs.hpp"

namespace porter {
namespace {

// A bit of a copy of somebody else's Q flips, in an entry that few messages touch. The copy is
// found wrong, asked for and replaced, and nobody's result shows it.
TEST(Exchange, AFlippedBitInACopyIsFoundRepairedAndLeavesNoTrace) {
  for (const auto precision : {Precision::wide, Precision::narrow}) {
    SCOPED_TRACE(int(precision));
    auto toy = five_agents("porter-dp", "top_k:k=1");
    toy.graph = "complete";
    toy.precision = precision;
    const auto flip = [](auto* Q) {
      auto& entry = Q->row(3)[17];
      entry = std::nextafter(entry, std::decay_t<decltype(entry)>(9));
    };
    const auto outcome = run_in_processes(
        toy, 200, 5, [&](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
          if (process != 1 || round != 40) return;
          for (const auto& [name, matrix, copied] : parts.algorithm->state())
            if (name == "Q1") std::visit(flip, matrix);
        });
    const auto simulated = simulate(toy, 200);
    EXPECT_EQ(simulated.X, outcome.X);
    EXPECT_EQ(simulated.U, outcome.U);
    ASSERT_EQ(outcome.reports.size(), 2U)
        << (outcome.reports.empty() ? "" : outcome.reports.back());
    // Step 48 is the next one with digests, 49 asks, 50 answers.
    EXPECT_EQ(outcome.reports[0].find("process 1, step 48: "), 0U) << outcome.reports[0];
    EXPECT_NE(outcome.reports[0].find("agent 3's surrogate differs"), std::string::npos);
    EXPECT_EQ(outcome.reports[1].find("process 1, step 50: "), 0U) << outcome.reports[1];
    EXPECT_NE(outcome.reports[1].find("agent 3's surrogate is repaired"), std::string::npos);
  }
}

double worst_difference(const Rows& a, const Rows& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.agents(); ++i)
    for (std::size_t j = 0; j < a.dim(); ++j)
      worst = std::max(worst, std::abs(a.row(i)[j] - b.row(i)[j]));
  return worst;
}

// Gaps that are not stored are sums over the copies, so a wrong copy is used until it is replaced:
// for a few steps, and the effect of a last bit stays far below the noise.
TEST(Exchange, ACopyThatIsSummedFromIsRepairedToo) {
  const auto toy = five_agents("porter-dp", "random_k:0.2");
  const auto outcome = run_in_processes(
      toy, 200, 5, [&](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
        if (process != 1 || round != 40) return;
        for (const auto& [name, matrix, copied] : parts.algorithm->state())
          if (name == "Q1")
            for (std::size_t sender = 0; sender < 5; ++sender)
              if (sender != 1) std::get<Rows*>(matrix)->row(sender)[17] += 1e-12;
      });
  ASSERT_GE(outcome.reports.size(), 2U);
  EXPECT_NE(outcome.reports.back().find("is repaired"), std::string::npos)
      << outcome.reports.back();
  EXPECT_EQ(outcome.reports.size() % 2, 0U);
  EXPECT_LT(worst_difference(simulate(toy, 200).X, outcome.X), 1e-9);
}

TEST(Exchange, AWrongEntryIsFoundInEveryStretch) {
  auto toy = five_agents("porter-dp", "random_k:0.1");
  toy.features = 8300;
  for (const std::size_t entry : {0U, 4095U, 4096U, 8191U, 8299U}) {
    SCOPED_TRACE(entry);
    const auto outcome = run_in_processes(
        toy, 20, 5, [&](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
          if (process != 1 || round != 9) return;
          for (const auto& [name, matrix, copied] : parts.algorithm->state())
            if (name == "Q0")
              for (std::size_t sender = 0; sender < 5; ++sender)
                if (sender != 1) std::get<Rows*>(matrix)->row(sender)[entry] += 1e-6;
        });
    ASSERT_FALSE(outcome.reports.empty());
    EXPECT_TRUE(outcome.reports[0].starts_with("process 1, step 16: ")) << outcome.reports[0];
    EXPECT_NE(outcome.reports.back().find("is repaired"), std::string::npos)
        << outcome.reports.back();
  }
}

// What happens after the last comparison of eight steps is seen in the last one.
TEST(Exchange, ACopyThatIsWrongAtTheEndIsReported) {
  for (const auto& compressor : kStoredAndSummed) {
    auto toy = five_agents("porter-dp", compressor);
    toy.rounds = 43;
    const auto outcome =
        run_in_processes(toy, toy.rounds, 5,
                         [&](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
                           if (process != 1 || round != 42) return;
                           for (const auto& [name, matrix, copied] : parts.algorithm->state())
                             if (name == "Q1")
                               for (std::size_t sender = 0; sender < 5; ++sender)
                                 if (sender != 1) std::get<Rows*>(matrix)->row(sender)[17] += 1;
                         });
    ASSERT_FALSE(outcome.reports.empty());
    EXPECT_TRUE(outcome.reports[0].starts_with("process 1, step 43: ")) << outcome.reports[0];
    EXPECT_NE(outcome.reports[0].find("too late to ask"), std::string::npos) << outcome.reports[0];
  }
}

// Sums that were built from a wrong copy are mended as well: here all of a copy and of what was
// summed from it is lost. The bits differ from those of a clean run, the values hardly do.
TEST(Exchange, LostSumsAreMendedFromTheRepairedCopies) {
  auto toy = five_agents("porter-dp", "random_k:k=1");
  toy.eta = 0.01;  // so small that a message of one entry keeps the agents together
  toy.gamma = 0.02;
  const auto outcome = run_in_processes(
      toy, 100, 2, [&](std::uint32_t process, std::uint32_t round, ToyNetwork::Parts& parts) {
        if (process != 0 || round != 90) return;
        for (const auto& [name, matrix, copied] : parts.algorithm->state())
          if (name == "Q1" || name == "gap1")
            for (std::uint32_t agent = name == "Q1" ? 2 : 0; agent < (name == "Q1" ? 5 : 2);
                 ++agent)
              for (auto& value : std::get<Rows*>(matrix)->row(agent)) value = 0.25;
      });
  const double worst = worst_difference(simulate(toy, 100).X, outcome.X);
  // Three steps moved by gamma times sums that were wrong by less than 2.
  EXPECT_LT(worst, 3 * toy.gamma * 2);
  EXPECT_GT(worst, 0);
  EXPECT_NE(outcome.reports.back().find("sums of messages are mended, too"), std::string::npos)
      << outcome.reports.back();
}

}  // namespace
}  // namespace porter
