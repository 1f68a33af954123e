// SPDX-License-Identifier: Apache-2.0
#include "porter/core/rows.hpp"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <vector>

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

TEST(Rows, OfTheGivenAgentsAreFilled) {
  const std::vector<double> x = {1, 2, 3};
  const auto rows = repeat_row(x, 4, std::vector<std::uint32_t>{1, 3});
  for (const std::size_t i : {0, 2}) EXPECT_EQ(rows.row(i)[2], 0);
  for (const std::size_t i : {1, 3}) EXPECT_EQ(rows.row(i)[2], 3);
  EXPECT_EQ(repeat_row(x, 4).row(0)[2], 3);
}

#if defined(__linux__)
// A process holds 40 MB of rows and writes to one of them, 400 kB.
TEST(Rows, ThatNobodyWritesToTakeNoMemory) {
  Rows rows(100, 50'000);
  for (double& value : rows.row(50)) value = 1;
  constexpr std::size_t kPage = 4096;
  const std::size_t bytes = 100 * rows.stride() * sizeof(double) / kPage * kPage;
  std::vector<unsigned char> present(bytes / kPage);
  ASSERT_EQ(mincore(rows.row(0).data(), bytes, present.data()), 0);
  const auto pages = std::ranges::count_if(present, [](unsigned char p) { return p & 1; });
  EXPECT_GE(pages * kPage, 400'000U);
  EXPECT_LE(pages * kPage, std::size_t{3} << 21);  // huge pages, and one more at each end
  EXPECT_EQ(rows.row(0)[0], 0);
  EXPECT_EQ(rows.row(99)[49'999], 0);
}
#endif

}  // namespace
}  // namespace porter
