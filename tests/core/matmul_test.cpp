// SPDX-License-Identifier: Apache-2.0
#include "core/matmul.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/vector_math.hpp"
#include "every_simd_target.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

template <class Real>
std::vector<Real> random_numbers(std::size_t count, RngStream& rng) {
  std::vector<double> wide(count);
  rng.fill_normal(wide);
  return {wide.begin(), wide.end()};
}

template <class Real>
class MultiplyAdd : public testing::Test {};
using Reals = testing::Types<double, float>;
TYPED_TEST_SUITE(MultiplyAdd, Reals);

TYPED_TEST(MultiplyAdd, HasTheBitsOfTheTripleLoop) {
  std::uint32_t round = 0;
  for (const std::size_t m : {1, 5, 6, 13})
    for (const std::size_t n : {1, 7, 8, 10, 19, 28, 32})
      for (const std::size_t k : {0, 1, 10, 33})
        for (const bool transposed : {false, true}) {
          SCOPED_TRACE(testing::Message() << m << ' ' << n << ' ' << k << ' ' << transposed);
          RngStream rng(1, Draw::test, 0, ++round);
          const auto a = random_numbers<TypeParam>(m * k, rng),
                     b = random_numbers<TypeParam>(k * n, rng);
          const auto c = random_numbers<TypeParam>(m * n, rng);
          using Matrix = StridedMatrix<TypeParam>;
          const Matrix view = transposed ? Matrix{a.data(), 1, m} : Matrix{a.data(), k, 1};
          auto expected = c;
          for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j < n; ++j)
              for (std::size_t p = 0; p < k; ++p)
                expected[i * n + j] +=
                    a[i * view.row_stride + p * view.column_stride] * b[p * n + j];
          for_every_simd_target([&](const std::string& target) {
            auto sums = c;
            multiply_add(m, n, k, view, b.data(), n, sums.data(), n);
            EXPECT_EQ(sums, expected) << target;
          });
        }
}

// Eleven rows of 0 to 14 entries, so that those which are computed together end at different times.
template <class Real>
struct RandomSparse {
  static constexpr std::size_t kRows = 11, kColumns = 15;
  std::vector<std::uint32_t> starts = {0}, columns;
  std::vector<Real> values;

  explicit RandomSparse(RngStream& rng) {
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::uint32_t j = 0; j < kColumns; ++j)
        if (rng.uniform() < static_cast<double>(i * 7 % kRows) / kRows) columns.push_back(j);
      starts.push_back(static_cast<std::uint32_t>(columns.size()));
    }
    values = random_numbers<Real>(columns.size(), rng);
  }
  SparseMatrix<Real> view() const { return {starts, columns, values}; }
};

// Whole vectors of all instruction sets, parts of one, and strips that leave a part.
const std::vector<std::size_t> kSparseWidths = {1,  2,  3,  4,  5,  7,  8,  9,  10,  15, 16,
                                                17, 24, 31, 33, 40, 64, 65, 77, 112, 150};

TYPED_TEST(MultiplyAdd, OfASparseMatrixHasTheBitsOfTheLoopOverItsEntries) {
  RngStream rng(2, Draw::test, 0, 0);
  const RandomSparse<TypeParam> a(rng);
  for (const std::size_t n : kSparseWidths) {
    SCOPED_TRACE(n);
    const auto b = random_numbers<TypeParam>(a.kColumns * n, rng);
    const auto c = random_numbers<TypeParam>(a.kRows * n, rng);
    auto expected = c;
    for (std::size_t i = 0; i < a.kRows; ++i)
      for (auto e = a.starts[i]; e < a.starts[i + 1]; ++e)
        for (std::size_t j = 0; j < n; ++j)
          expected[i * n + j] += a.values[e] * b[a.columns[e] * n + j];
    for_every_simd_target([&](const std::string& target) {
      auto sums = c;
      multiply_add<TypeParam>(a.view(), n, b.data(), n, sums.data(), n);
      EXPECT_EQ(sums, expected) << target;
    });
  }
}

TYPED_TEST(MultiplyAdd, OfATransposedSparseMatrixHasTheBitsOfTheLoopOverItsEntries) {
  RngStream rng(3, Draw::test, 0, 0);
  const RandomSparse<TypeParam> a(rng);
  for (const std::size_t n : kSparseWidths) {
    SCOPED_TRACE(n);
    const auto b = random_numbers<TypeParam>(a.kRows * n, rng);
    const auto c = random_numbers<TypeParam>(a.kColumns * n, rng);
    auto expected = c;
    for (std::size_t i = 0; i < a.kRows; ++i)
      for (auto e = a.starts[i]; e < a.starts[i + 1]; ++e)
        for (std::size_t j = 0; j < n; ++j)
          expected[a.columns[e] * n + j] += a.values[e] * b[i * n + j];
    for_every_simd_target([&](const std::string& target) {
      auto sums = c;
      multiply_add_transposed<TypeParam>(a.view(), n, b.data(), n, sums.data(), n);
      EXPECT_EQ(sums, expected) << target;
    });
  }
}

TEST(Multiply, HasTheBitsOfDot) {
  for (const std::size_t m : {1, 3, 4, 9})
    for (const std::size_t n : {1, 7, 8, 29, 64}) {
      SCOPED_TRACE(testing::Message() << m << ' ' << n);
      RngStream rng(3, Draw::test, 0, 0);
      std::vector<double> a(m * n), x(n), y(m);
      rng.fill_normal(a);
      rng.fill_normal(x);
      const std::vector<float> narrow(a.begin(), a.end());
      a.assign(narrow.begin(), narrow.end());
      for_every_simd_target([&](const std::string& target) {
        multiply(m, n, a.data(), x.data(), y.data());
        for (std::size_t i = 0; i < m; ++i)
          EXPECT_EQ(y[i], dot(std::span(a).subspan(i * n, n), x)) << target;
        const auto wide = y;
        multiply(m, n, narrow.data(), x.data(), y.data());
        EXPECT_EQ(y, wide) << target;
      });
    }
}

TEST(Transpose, AndItsSumMoveEveryElement) {
  for (const std::size_t m : {1, 8, 13})
    for (const std::size_t n : {1, 8, 21}) {
      SCOPED_TRACE(testing::Message() << m << ' ' << n);
      RngStream rng(4, Draw::test, 0, 0);
      std::vector<double> a(m * n), u(n), b(n * m), c(n * m, 1.0), d(m * n);
      rng.fill_normal(a);
      rng.fill_normal(u);
      transpose(m, n, a.data(), n, b.data(), m);
      add_transposed(m, n, a.data(), u, c.data());
      outer_product(std::span(a).first(m), u, d.data());
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          EXPECT_EQ(b[j * m + i], a[i * n + j]);
          EXPECT_EQ(c[j * m + i], 1.0 + (u[j] + a[i * n + j]));
          EXPECT_EQ(d[i * n + j], a[i] * u[j]);
        }
    }
}

}  // namespace
}  // namespace porter
