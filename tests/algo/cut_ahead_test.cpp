// SPDX-License-Identifier: Apache-2.0
// Messages that are cut while a tile is in the cache, where agents are many and rows long. With
// more than a quarter as many threads as agents the general path computes the same, and is what
// they are held against.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "porter/core/error.hpp"
#include "sanitized.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

constexpr std::size_t kManyAgents = 40, kGeneral = 16;

// Two tiles, the second of which is short, in the parts of a tile and in its noise.
ToyNetwork long_rows(std::size_t threads) {
  return {.agents = kManyAgents,
          .graph = "regular:4",
          .compressor = "random_k:0.05",
          .model = "softmax",
          .algorithm = "porter-dp",
          .clip_target = ClipTarget::sample,
          .rows_per_agent = 3,
          .features = kTileSize / 2 + 87,
          .batch = 1,
          .threads = threads,
          .noise_stddev = 0.1,
          .lambda = 0};
}

struct Named {
  std::string name;
  Rows rows;
  friend bool operator==(const Named&, const Named&) = default;
};
using Everything = std::vector<Named>;

Everything everything(ToyNetwork::Parts& toy) {
  Everything all;
  for (const auto& [name, matrix, copied] : toy.algorithm->state())
    all.push_back(
        {name, std::visit([](auto* rows) { return ToyNetwork::Parts::widened(*rows); }, matrix)});
  return all;
}

void set(ToyNetwork::Parts& toy, const Everything& values) {
  std::size_t number = 0;
  for (const auto& [name, matrix, copied] : toy.algorithm->state()) {
    const auto& from = values[number++].rows;
    std::visit(
        [&](auto* rows) {
          for (std::size_t i = 0; i < from.agents(); ++i)
            std::ranges::transform(from.row(i), rows->row(i).begin(), [](double v) {
              return static_cast<std::remove_reference_t<decltype(rows->row(0)[0])>>(v);
            });
        },
        matrix);
  }
}

void run(ToyNetwork::Parts& toy, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t round = first; round <= last; ++round) toy.algorithm->step(round);
}

void expect_equal(const Everything& found, const Everything& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(found[i] == expected[i]) << what << ": " << expected[i].name;
}

std::vector<std::pair<std::string, ToyNetwork>> cases(std::size_t threads) {
  auto factors = long_rows(threads), narrow = factors, batches = factors, momentum = factors,
       same = factors, dense_gradient = factors;
  narrow.precision = Precision::narrow;
  batches.batch = 2;
  momentum.momentum = 0.4;
  same.mask = Mask::shared;
  dense_gradient.model = "logistic";
  dense_gradient.features = 2 * kTileSize;
  return {{"factors", factors},   {"float", narrow},  {"batches", batches},
          {"momentum", momentum}, {"one mask", same}, {"logistic", dense_gradient}};
}

// Gaps in float are built anew in round 64.
bool rebuilds(const ToyNetwork& toy) { return toy.precision == Precision::narrow; }

TEST(CutAhead, HasTheBitsOfTheGeneralPathWhoeverLooks) {
  for (auto [name, toy] : cases(kGeneral)) {
    const std::uint32_t rounds = kSanitized ? 8 : rebuilds(toy) ? 67 : 16;
    const auto reference = toy.build();
    run(*reference, 1, rounds);
    const auto& expected = *reference->algorithm;
    const auto state = everything(*reference);
    for (const auto& [threads, every] :
         {std::pair(1U, 1000U), std::pair(1U, 7U), std::pair(3U, 1U), std::pair(3U, 1000U)}) {
      const auto what = concat(name, ", ", threads, " threads, looked at every ", every);
      toy.threads = threads;
      const auto parts = toy.build();
      auto& found = *parts->algorithm;
      for (std::uint32_t round = 1; round <= rounds; ++round) {
        found.step(round);
        if (round % every == 0) everything(*parts);
        if (round % every == 1) found.published_trackers();
      }
      EXPECT_EQ(found.iterates(), expected.iterates()) << what;
      EXPECT_EQ(found.tracking_error(), expected.tracking_error()) << what;
      EXPECT_EQ(found.traffic().link_bytes, reference->algorithm->traffic().link_bytes) << what;
      EXPECT_EQ(found.traffic().message_bytes, reference->algorithm->traffic().message_bytes);
      expect_equal(everything(*parts), state, what);
    }
  }
}

TEST(CutAhead, ShowsTheTrackersThatWerePublished) {
  const auto ahead = long_rows(1).build(), general = long_rows(kGeneral).build();
  for (std::uint32_t round = 1; round <= 5; ++round) {
    run(*ahead, round, round);
    run(*general, round, round);
    EXPECT_EQ(*ahead->algorithm->published_trackers(), *general->algorithm->published_trackers());
  }
}

TEST(CutAhead, GoesOnFromAnyRound) {
  for (const auto& [name, toy] : cases(1)) {
    for (const std::uint32_t round : {1U, 4U, 63U, 64U}) {
      if (round > 4 && (kSanitized || !rebuilds(toy))) continue;
      const auto whole = toy.build(), first = toy.build(), second = toy.build();
      run(*whole, 1, round + 3);
      run(*first, 1, round);
      run(*second, 1, 2);  // what it has made ahead is of no use
      set(*second, everything(*first));
      run(*second, round + 1, round + 3);
      expect_equal(everything(*second), everything(*whole),
                   name + ", round " + std::to_string(round));
    }
  }
}

std::string error_of(ToyNetwork toy, double moved) {
  toy.rounds = 20;
  const auto parts = toy.build();
  run(*parts, 1, 2);
  auto state = everything(*parts);
  for (auto& [name, rows] : state)
    if (name == "U") rows.row(3)[1] = rows.row(7)[kTileSize + 5] = moved;
  set(*parts, state);
  for (std::uint32_t round = 3; round <= 20; ++round) try {
      parts->algorithm->step(round);
    } catch (const Error& error) {
      return concat("round ", round, ": ", error.what());
    }
  return "none";
}

TEST(CutAhead, RefusesTheSameMessagesWithTheSameWords) {
  for (const double moved : {1e12, std::numeric_limits<double>::infinity(), std::nan("")}) {
    auto toy = long_rows(1);
    toy.compressor = "random_k:0.4";
    const auto found = error_of(toy, moved);
    toy.threads = kGeneral;
    EXPECT_EQ(found, error_of(toy, moved));
    EXPECT_NE(found, "none");
  }
}

}  // namespace
}  // namespace porter
