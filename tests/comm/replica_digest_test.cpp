// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/replica_digest.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

#include "porter/core/rng.hpp"
#include "porter/core/sampling.hpp"

namespace porter {
namespace {

std::vector<double> random_vector(std::size_t size, std::uint32_t number) {
  std::vector<double> q(size);
  RngStream(1, Draw::test, 0, number).fill_normal(q);
  return q;
}

double with_flipped_bit(double value, int bit) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << bit));
}

TEST(ReplicaDigest, FollowsSparseChangesAsIfRecomputed) {
  auto q = random_vector(1000, 0);
  ReplicaDigest digest(q, 3);
  std::vector<std::uint32_t> indices;
  for (std::uint32_t round = 1; round <= 300; ++round) {
    RngStream rng(2, Draw::test, 0, round);
    choose(1 + rng.below(60), q.size(), rng, indices);
    digest.remove(indices, q);
    for (const auto j : indices) q[j] += rng.normal();
    digest.add(indices, q);
    ASSERT_EQ(digest, ReplicaDigest(q, 3)) << "round " << round;
  }
}

TEST(ReplicaDigest, DoesNotDependOnTheOrderOfChanges) {
  auto q = random_vector(10, 0);
  ReplicaDigest there(q), here(q);
  const std::vector<std::uint32_t> up = {1, 4, 7}, down = {7, 4, 1};
  there.remove(up, q);
  here.remove(down, q);
  for (const auto j : up) q[j] = 0.5;
  there.add(down, q);
  here.add(up, q);
  EXPECT_EQ(there, here);
}

TEST(ReplicaDigest, FindsEverySingleBit) {
  const auto q = random_vector(50, 1);
  const ReplicaDigest digest(q);
  for (std::size_t j = 0; j < q.size(); ++j)
    for (int bit = 0; bit < 64; ++bit) {
      auto other = q;
      other[j] = with_flipped_bit(other[j], bit);
      EXPECT_NE(ReplicaDigest(other), digest) << "entry " << j << " bit " << bit;
    }
}

TEST(ReplicaDigest, FindsSwappedEntriesTheSignOfZeroAndAnotherChannel) {
  const std::vector<double> q = {1, 2, 0.0};
  const ReplicaDigest digest(q);
  EXPECT_NE(ReplicaDigest(std::vector<double>{2, 1, 0.0}), digest);
  EXPECT_NE(ReplicaDigest(std::vector<double>{1, 2, -0.0}), digest);
  EXPECT_NE(ReplicaDigest(q, 1), digest);
}

// Equal changes at two entries must not cancel, as they would in a plain sum of values.
TEST(ReplicaDigest, FindsPairsOfChanges) {
  const std::vector<double> q(64, 1.0);
  std::set<std::uint64_t> seen = {ReplicaDigest(q).value()};
  std::size_t vectors = 1;
  for (std::size_t a = 0; a < q.size(); ++a)
    for (std::size_t b = 0; b < a; ++b, ++vectors) {
      auto other = q;
      other[a] += 0.5;
      other[b] -= 0.5;
      seen.insert(ReplicaDigest(other).value());
    }
  EXPECT_EQ(seen.size(), vectors);
}

}  // namespace
}  // namespace porter
