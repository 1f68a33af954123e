// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "toy_network.hpp"

namespace porter {
namespace {

ToyNetwork triggered(double trigger) {
  return {
      .compressor = "random_k:k=2", .algorithm = "sparq-sgd", .clip = "none", .trigger = trigger};
}

TEST(SparqSgd, IsChocoSgdWhereTheTriggerIsZero) {
  const auto after_100 = [](ToyNetwork network, const char* algorithm) {
    network.algorithm = algorithm;
    network.gossip = 2;
    const auto toy = network.build();
    for (std::uint32_t round = 1; round <= 100; ++round) toy->algorithm->step(round);
    return toy->algorithm->iterates();
  };
  EXPECT_EQ(after_100(triggered(0), "sparq-sgd"), after_100(triggered(0), "choco-sgd"));
  EXPECT_NE(after_100(triggered(1), "sparq-sgd"), after_100(triggered(0), "choco-sgd"));
}

// An agent whose Q has moved has sent two floats and a checksum, the others nothing.
TEST(SparqSgd, BytesAreThoseOfTheAgentsThatSent) {
  constexpr std::uint64_t payload = 2 * 4 + 4, degree = 2, rounds = 300;
  const auto toy = triggered(1).build();
  std::uint64_t sent = 0;
  Rows before = toy->state("Q0");
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    toy->algorithm->step(round);
    const auto after = toy->state("Q0");
    for (std::size_t i = 0; i < after.agents(); ++i)
      sent += !std::ranges::equal(before.row(i), after.row(i));
    before = after;
  }
  EXPECT_EQ(toy->algorithm->traffic().message_bytes, sent * payload);
  EXPECT_EQ(toy->algorithm->traffic().link_bytes, sent * payload * degree);
  EXPECT_GT(sent, rounds);  // of six agents
  EXPECT_LT(sent, 5 * rounds);
}

TEST(SparqSgd, WhoIsSilentStaysWithinTheTrigger) {
  auto network = triggered(3);
  network.compressor = "identity";
  network.gamma = 0;  // so that X is what was compared
  const auto toy = network.build();
  for (std::uint32_t round = 1; round <= 200; ++round) {
    toy->algorithm->step(round);
    const auto Q = toy->state("Q0");
    for (std::size_t i = 0; i < Q.agents(); ++i)
      ASSERT_LE(squared_distance(toy->algorithm->iterates().row(i), Q.row(i)),
                3 * network.eta * network.eta);
  }
}

TEST(SparqSgd, WhoHasDivergedIsNotSilent) {
  const auto toy = triggered(1e300).build();
  toy->algorithm->step(1);
  EXPECT_EQ(toy->algorithm->traffic().message_bytes, 0U);
  std::ranges::fill(toy->data.values, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THROW(toy->algorithm->step(2), Error);
}

}  // namespace
}  // namespace porter
