// SPDX-License-Identifier: Apache-2.0
#include "comm/replica_digest.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

#include "every_simd_target.hpp"
#include "porter/core/rng.hpp"

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

TEST(ReplicaDigest, FindsEverySingleBit) {
  const auto q = random_vector(50, 1);
  const auto digest = replica_digest(q);
  for (std::size_t j = 0; j < q.size(); ++j)
    for (int bit = 0; bit < 64; ++bit) {
      auto other = q;
      other[j] = with_flipped_bit(other[j], bit);
      EXPECT_NE(replica_digest(other), digest) << "entry " << j << " bit " << bit;
    }
}

TEST(ReplicaDigest, FindsSwappedEntriesTheSignOfZeroAndAnotherChannel) {
  const std::vector<double> q = {1, 2, 0.0};
  const auto digest = replica_digest(q);
  EXPECT_NE(replica_digest(std::vector<double>{2, 1, 0.0}), digest);
  EXPECT_NE(replica_digest(std::vector<double>{1, 2, -0.0}), digest);
  EXPECT_NE(replica_digest(q, 1), digest);
}

// Single entries are no vectors of the machine; all together they are.
TEST(ReplicaDigest, OfAVectorIsTheSumOverItsEntriesOnEveryTarget) {
  const auto wide = random_vector(50, 2);
  const std::vector<float> narrow(wide.begin(), wide.end());
  for_every_simd_target([&](const auto&) {
    std::uint64_t sum = 0, narrow_sum = 0;
    for (std::size_t j = 0; j < wide.size(); ++j) {
      sum += replica_digest(std::span(wide).subspan(j, 1), 1, j);
      narrow_sum += replica_digest(std::span(narrow).subspan(j, 1), 1, j);
    }
    EXPECT_EQ(replica_digest(wide, 1), sum);
    EXPECT_EQ(replica_digest(narrow, 1), narrow_sum);
  });
}

// All versions must agree on it.
TEST(ReplicaDigest, IsWhatItWas) {
  std::vector<double> q(11);
  for (std::size_t j = 0; j < q.size(); ++j) q[j] = 0.5 * double(j) - 1;
  EXPECT_EQ(replica_digest(q, 1), 0x65db0ae391950a08);
}

// Equal changes at two entries must not cancel, as they would in a plain sum of values.
TEST(ReplicaDigest, FindsPairsOfChanges) {
  const std::vector<double> q(64, 1.0);
  std::set<std::uint64_t> seen = {replica_digest(q)};
  std::size_t vectors = 1;
  for (std::size_t a = 0; a < q.size(); ++a)
    for (std::size_t b = 0; b < a; ++b, ++vectors) {
      auto other = q;
      other[a] += 0.5;
      other[b] -= 0.5;
      seen.insert(replica_digest(other));
    }
  EXPECT_EQ(seen.size(), vectors);
}

}  // namespace
}  // namespace porter
