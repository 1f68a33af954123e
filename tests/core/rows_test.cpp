// SPDX-License-Identifier: Apache-2.0
#include "porter/core/rows.hpp"

#include <gtest/gtest.h>

namespace porter {
namespace {

template <class Real>
void expect_rows_of_their_own() {
  for (const std::size_t agents : {1, 7, 999, 1000, 3000})
    for (const std::size_t dim : {1, 5, 124, 128, 300, 600}) {
      SCOPED_TRACE(testing::Message() << agents << " x " << dim);
      BasicRows<Real> rows(agents, dim);
      for (std::size_t i = 0; i < agents; ++i)
        for (std::size_t j = 0; j < dim; ++j)
          rows.row(i)[j] = static_cast<Real>((i * 31 + j * 7) % 1000);
      for (std::size_t i = 0; i < agents; ++i)
        for (std::size_t j = 0; j < dim; ++j)
          ASSERT_EQ(rows.row(i)[j], static_cast<Real>((i * 31 + j * 7) % 1000));
      // What follows the last row is there to be read; a sanitizer would see it otherwise.
      const Real* last = rows.row(agents - 1).data();
      for (std::size_t j = dim; j < whole_lines<Real>(dim); ++j) EXPECT_EQ(last[j], 0);
    }
}

TEST(Rows, AreApartWhateverTheirDistance) {
  expect_rows_of_their_own<double>();
  expect_rows_of_their_own<float>();
}

// 7 such matrices are the state of PORTER: 56 bytes per agent and coordinate, not 61.
TEST(Rows, OfManyAgentsAreNotPaddedWhereTheyAreShort) {
  EXPECT_EQ(Rows(10'000, 124).stride(), 124U);
  EXPECT_EQ(Rows(10, 124).stride(), 136U);
  EXPECT_EQ(Rows(1000, 50'890).stride(), 50'904U);
}

}  // namespace
}  // namespace porter
