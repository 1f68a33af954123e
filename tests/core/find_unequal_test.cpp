// SPDX-License-Identifier: Apache-2.0
#include "core/find_unequal.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "every_simd_target.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

TEST(FindUnequal, FindsWhatIsNotTheBackgroundInOrder) {
  for (const std::size_t size : {1, 3, 15, 16, 17, 64, 100, 784})
    for (const double share : {0.0, 0.2, 0.9, 1.0}) {
      SCOPED_TRACE(testing::Message() << size << ' ' << share);
      RngStream rng(1, Draw::test, 0, static_cast<std::uint32_t>(size));
      std::vector<float> row(size, -0.5F);
      std::vector<std::uint32_t> expected;
      for (std::uint32_t j = 0; j < size; ++j)
        if (rng.uniform() < share) {
          row[j] = static_cast<float>(j) + 1;
          expected.push_back(j);
        }
      for_every_simd_target([&](const std::string& target) {
        std::vector<std::uint32_t> columns(size + 1, 77);
        const auto count = find_unequal(row, -0.5F, columns.data());
        EXPECT_EQ(columns.back(), 77U) << target << " wrote past the end";
        columns.resize(count);
        EXPECT_EQ(columns, expected) << target;
      });
    }
}

// Eight entries at a time are looked up in a table: every case of it.
TEST(FindUnequal, FindsEverySetOfEight) {
  std::vector<float> row;
  std::vector<std::uint32_t> expected;
  for (unsigned flags = 0; flags < 256; ++flags)
    for (unsigned k = 0; k < 8; ++k) {
      if ((flags >> k & 1) != 0) expected.push_back(static_cast<std::uint32_t>(row.size()));
      row.push_back((flags >> k & 1) != 0 ? 1.0F : 0.0F);
    }
  for_every_simd_target([&](const std::string& target) {
    std::vector<std::uint32_t> columns(row.size());
    columns.resize(find_unequal(row, 0.0F, columns.data()));
    EXPECT_EQ(columns, expected) << target;
  });
}

}  // namespace
}  // namespace porter
