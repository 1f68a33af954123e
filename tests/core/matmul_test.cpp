// SPDX-License-Identifier: Apache-2.0
#include "porter/core/matmul.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

TEST(MultiplyAdd, HasTheBitsOfTheTripleLoop) {
  std::uint32_t round = 0;
  for (const std::size_t m : {1, 5, 6, 13})
    for (const std::size_t n : {1, 7, 8, 19, 32})
      for (const std::size_t k : {0, 1, 10, 33})
        for (const bool transposed : {false, true}) {
          SCOPED_TRACE(testing::Message() << m << ' ' << n << ' ' << k << ' ' << transposed);
          RngStream rng(1, Draw::test, 0, ++round);
          std::vector<double> a(m * k), b(k * n), c(m * n);
          rng.fill_normal(a);
          rng.fill_normal(b);
          rng.fill_normal(c);
          const StridedMatrix view =
              transposed ? StridedMatrix{a.data(), 1, m} : StridedMatrix{a.data(), k, 1};
          auto expected = c;
          for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j < n; ++j)
              for (std::size_t p = 0; p < k; ++p)
                expected[i * n + j] +=
                    a[i * view.row_stride + p * view.column_stride] * b[p * n + j];
          multiply_add(m, n, k, view, b.data(), n, c.data(), n);
          EXPECT_EQ(c, expected);
        }
}

}  // namespace
}  // namespace porter
