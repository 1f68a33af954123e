// SPDX-License-Identifier: Apache-2.0
// Kernels against plain loops, with NaN, infinities and signed zeros at every place.
#include "special_values.hpp"

#include <numeric>

#include "core/find_unequal.hpp"
#include "core/matmul.hpp"
#include "core/vector_math.hpp"

namespace porter {
namespace {

// The order that vector_math.hpp promises.
template <class Term>
double eight_sums(std::size_t n, Term term) {
  double s[8] = {};
  for (std::size_t i = 0; i < n; ++i) s[i % 8] += term(i);
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

TEST(SpecialValues, FindUnequalTakesNaNForUnequal) {
  for_every_special_value<float>([](const std::vector<float>& x) {
    for (const float background : {0.0F, -0.0F, 1.0F, INFINITY, NAN, x.empty() ? 0 : x[0]}) {
      auto row = x;  // every third entry is background
      for (std::size_t i = 1; i < row.size(); i += 3) row[i] = background;
      for (const auto& values : {x, row}) {
        std::vector<std::uint32_t> expected, columns(values.size());
        for (std::uint32_t j = 0; j < values.size(); ++j)
          if (values[j] != background) expected.push_back(j);
        columns.resize(find_unequal(values, background, columns.data()));
        ASSERT_EQ(columns, expected) << "background " << background;
      }
    }
  });
}

template <class Out, class In, class Kernel, class Plain>
void compare_maps(const std::vector<In>& x, const char* what, Kernel kernel, Plain plain) {
  auto found = ordinary_values<Out>(x.size(), 1), expected = found;
  kernel(std::span<const In>(x), std::span<Out>(found));
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = plain(x[i], expected[i]);
  expect_same(found, expected, what);
}

TEST(SpecialValues, MapsOfVectorMathAreThoseOfPlainLoops) {
  for_every_special_value<double>([](const std::vector<double>& x) {
    for (const double a : {0.3, 0.0, double{INFINITY}}) {
      compare_maps<double>(
          x, "axpy", [&](auto in, auto out) { axpy(a, in, out); },
          [&](double in, double out) { return out + a * in; });
      compare_maps<double>(
          x, "scaled_copy", [&](auto in, auto out) { scaled_copy(a, in, out); },
          [&](double in, double) { return a * in; });
      compare_maps<float>(
          x, "scaled_copy to float", [&](auto in, auto out) { scaled_copy(a, in, out); },
          [&](double in, float) { return static_cast<float>(a * in); });
      auto found = x, expected = x;
      scale(a, found);
      for (double& value : expected) value *= a;
      expect_same(found, expected, "scale");
    }
  });
  for_every_special_value<float>([](const std::vector<float>& x) {
    for (const float a : {0.3F, 0.0F, INFINITY}) {
      compare_maps<float>(
          x, "axpy in float", [&](auto in, auto out) { axpy(a, in, out); },
          [&](float in, float out) { return out + a * in; });
      compare_maps<double>(
          x, "axpy to double", [&](auto in, auto out) { axpy(double{a}, in, out); },
          [&](float in, double out) { return out + double{a} * double{in}; });
      compare_maps<float>(
          x, "scaled_copy in float", [&](auto in, auto out) { scaled_copy(a, in, out); },
          [&](float in, float) { return a * in; });
      compare_maps<double>(
          x, "scale_and_add", [&](auto in, auto out) { scale_and_add(0.7, double{a}, in, out); },
          [&](float in, double out) { return 0.7 * out + double{a} * double{in}; });
    }
    compare_maps<double>(
        x, "widen", [](auto in, auto out) { widen(in, out); },
        [](float in, double) { return double{in}; });
  });
}

TEST(SpecialValues, SumsOfVectorMathAreThoseOfPlainLoops) {
  for_every_special_value<double>([](const std::vector<double>& x) {
    const auto y = ordinary_values<double>(x.size(), 1);
    const auto n = x.size();
    expect_same(dot(x, y), eight_sums(n, [&](std::size_t i) { return x[i] * y[i]; }), "dot");
    expect_same(squared_norm(x), eight_sums(n, [&](std::size_t i) { return x[i] * x[i]; }), "norm");
    expect_same(squared_distance(x, y),
                eight_sums(n, [&](std::size_t i) { return (x[i] - y[i]) * (x[i] - y[i]); }),
                "distance");
    EXPECT_EQ(all_finite(x), std::isfinite(std::accumulate(x.begin(), x.end(), 0.0)));
  });
  for_every_special_value<float>([](const std::vector<float>& x) {
    const auto y = ordinary_values<float>(x.size(), 1);
    expect_same(dot(x, y),
                eight_sums(x.size(), [&](std::size_t i) { return double{x[i]} * double{y[i]}; }),
                "dot of floats");
  });
}

// An entry is what it is alone: neither its place nor its neighbours matter.
template <class Real>
void compare_exp() {
  for_every_special_value<Real>([](const std::vector<Real>& x) {
    auto all = x, one_by_one = x;
    exp_in_place(std::span<Real>(all));
    for (std::size_t i = 0; i < x.size(); ++i) exp_in_place(std::span<Real>(&one_by_one[i], 1));
    expect_same(all, one_by_one, "exp");
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]))
        ASSERT_TRUE(std::isnan(all[i]));
      else if (std::isinf(x[i]))
        ASSERT_TRUE(x[i] > 0 ? all[i] > 1e37F && std::isfinite(all[i])
                             : all[i] > 0 && all[i] < 1e-37F);
      else
        ASSERT_NEAR(all[i], std::exp(double{x[i]}), 1e-6);
    }
  });
}

TEST(SpecialValues, ExpKeepsNaNAndStopsAtItsLimits) {
  compare_exp<double>();
  compare_exp<float>();
}

template <class Real>
void compare_tanh() {
  for_every_special_value<Real>([](const std::vector<Real>& x) {
    auto all = x, one_by_one = x;
    tanh_in_place(std::span<Real>(all));
    for (std::size_t i = 0; i < x.size(); ++i) tanh_in_place(std::span<Real>(&one_by_one[i], 1));
    expect_same(all, one_by_one, "tanh");
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]))
        ASSERT_TRUE(std::isnan(all[i]));
      else
        ASSERT_NEAR(all[i], std::tanh(double{x[i]}), 1e-6);
    }
  });
}

TEST(SpecialValues, TanhKeepsNaNAndEndsAtOne) {
  compare_tanh<double>();
  compare_tanh<float>();
}

template <class Real>
void compare_products() {
  constexpr std::size_t kRows = 3, kInner = 2;
  for_every_special_value<Real>([](const std::vector<Real>& x) {
    const std::size_t n = x.size();
    // The special row is the second of B, so that it meets ordinary ones.
    auto b = ordinary_values<Real>(n, 2);
    b.insert(b.end(), x.begin(), x.end());
    const auto a = ordinary_values<Real>(kRows * kInner, 3);
    const auto start = ordinary_values<Real>(kRows * n, 4);
    auto expected = start, dense = start, sparse = start;
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t p = 0; p < kInner; ++p)
        for (std::size_t j = 0; j < n; ++j) expected[i * n + j] += a[i * kInner + p] * b[p * n + j];
    multiply_add<Real>(kRows, n, kInner, {a.data(), kInner, 1}, b.data(), n, dense.data(), n);
    expect_same(dense, expected, "dense product");
    const std::vector<std::uint32_t> starts = {0, 2, 4, 6}, columns = {0, 1, 0, 1, 0, 1};
    multiply_add<Real>({starts, columns, a}, n, b.data(), n, sparse.data(), n);
    expect_same(sparse, expected, "sparse product");

    std::vector<Real> turned(2 * n), sums(2 * n, 1);
    transpose<Real>(2, n, b.data(), n, turned.data(), 2);
    add_transposed<Real>(2, n, b.data(), x, sums.data());
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < 2; ++i) {
        expect_same(turned[j * 2 + i], b[i * n + j], "transpose");
        expect_same(sums[j * 2 + i], 1 + (x[j] + b[i * n + j]), "add_transposed");
      }
  });
}

TEST(SpecialValues, ProductsOfMatricesAreThoseOfPlainLoops) {
  compare_products<double>();
  compare_products<float>();
  for_every_special_value<double>([](const std::vector<double>& x) {
    const std::size_t n = x.size();
    const auto a = ordinary_values<double>(5 * n, 1);
    const std::vector<double> u = {0.5, -0.0, NAN};
    std::vector<double> y(5), c(u.size() * n);
    multiply(5, n, a.data(), x.data(), y.data());
    for (std::size_t i = 0; i < y.size(); ++i)
      expect_same(y[i], eight_sums(n, [&](std::size_t j) { return a[i * n + j] * x[j]; }),
                  "multiply");
    outer_product(u, x, c.data());
    for (std::size_t i = 0; i < c.size(); ++i) expect_same(c[i], u[i / n] * x[i % n], "outer");
  });
}

}  // namespace
}  // namespace porter
