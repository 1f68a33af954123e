// SPDX-License-Identifier: Apache-2.0
#include "porter/model/outer_products.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "every_simd_target.hpp"
#include "porter/core/rng.hpp"
#include "porter/model/model.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Two products and, between them, a vector, as a layer with biases has it.
struct Example {
  std::vector<double> u = {1.5, -2, 0, 1e-310}, v, b = {3, -0.0, 7, 1}, w = {0.1};
  OuterProducts products;
  std::vector<double> all;  // by plain loops

  explicit Example(std::size_t width) : v(width) {
    RngStream(1, Draw::test, 0, 0).fill_normal(v);
    const std::vector<double> one = {1};
    add(u, v);
    add(one, b);
    add(b, w);
  }
  void add(const std::vector<double>& rows, const std::vector<double>& columns) {
    products.add(all.size(), rows, columns);
    for (const double r : rows)
      for (const double c : columns) all.push_back(r * c);
  }
};

TEST(OuterProducts, EveryPartIsThatOfThePlainLoops) {
  for (const std::size_t width : {1, 7, 8, 25}) {
    const Example example(width);
    const auto& all = example.all;
    for_every_simd_target([&](const std::string& target) {
      for (std::size_t first = 0; first < all.size(); ++first)
        for (const std::size_t size :
             {std::size_t{1}, (all.size() - first + 1) / 2, all.size() - first}) {
          SCOPED_TRACE(testing::Message() << target << ' ' << width << ' ' << first << ' ' << size);
          std::vector<float> out(size);
          std::vector<double> wide(size);
          example.products.write(first, 0.3, out);
          example.products.write(first, 0.3, wide);
          for (std::size_t i = 0; i < size; ++i) {
            const auto expected = static_cast<float>(0.3 * all[first + i]);
            ASSERT_EQ(out[i], expected);
            ASSERT_EQ(std::signbit(out[i]), std::signbit(expected));
            ASSERT_EQ(wide[i], 0.3 * all[first + i]);
          }
        }
    });
  }
}

TEST(OuterProducts, NaNAndInfinitiesGoTheirWay) {
  OuterProducts products;
  const std::vector<double> u = {1, 0}, v = {kInfinity, -1, std::nan("")};
  products.add(0, u, v);
  std::vector<float> out(6);
  products.write(0, 1, out);
  EXPECT_EQ(out[0], kInfinity);
  EXPECT_TRUE(std::isnan(out[2]) && std::isnan(out[3]) && std::isnan(out[5]));
}

TEST(OuterProducts, WithoutAnyNothingIsWritten) {
  Example example(3);
  example.products.clear();
  std::vector<float> out(4, 7.0F);
  example.products.write(0, 1, out);
  EXPECT_TRUE(example.products.empty());
  EXPECT_EQ(out, std::vector(4, 7.0F));
}

// The bits of the gradient in double, rounded once where it is written in float.
TEST(SampleGradient, IsTheGradientSumOfOneSample) {
  const std::function<double(double)> smooth = [](double norm) { return 1 / (1 + norm); };
  const auto data = toy_data(10, 9, 3, false);
  for (const ModelOptions& options : {ModelOptions{.name = "mlp", .hidden = {6}},
                                      {.name = "mlp", .hidden = {5, 4}},
                                      {.name = "softmax"}}) {
    const auto model = make_model(options, 9, 3);
    std::vector<double> x(model->dim()), sum(x), wide(x);
    RngStream(2, Draw::test, 0, 0).fill_normal(x);
    std::vector<float> narrow_x(x.begin(), x.end()), narrow(x.size());
    x.assign(narrow_x.begin(), narrow_x.end());
    for (const std::uint32_t row : {0, 4})
      for (const auto* factor : {&smooth, static_cast<decltype(&smooth)>(nullptr)}) {
        const std::vector rows = {row};
        const BatchRequest batch{.data = data, .first_row = 3, .rows = rows, .factor = factor};
        Workspace workspace;
        OuterProducts gradient;
        const double scale = model->gradient_sum(x, batch, sum, workspace);
        EXPECT_EQ(model->sample_gradient(narrow_x, batch, gradient, workspace), scale);
        gradient.write(0, scale, narrow);
        EXPECT_EQ(model->sample_gradient(x, batch, gradient, workspace), scale);
        gradient.write(0, scale, wide);
        for (std::size_t j = 0; j < x.size(); ++j) {
          ASSERT_EQ(narrow[j], static_cast<float>(scale * sum[j]));
          ASSERT_EQ(wide[j], scale * sum[j]);
        }
      }
  }
}

TEST(SampleGradient, IsLeftToTheGradientSumWhereItIsNotMadeOfProducts) {
  const std::function<double(double)> none = [](double) { return 0; };
  const std::vector<std::uint32_t> rows = {1};
  for (const bool sparse : {false, true})
    for (const double lambda : {0.0, 0.1})
      for (const bool left_out : {false, true}) {
        const auto data = toy_data(4, 5, 2, sparse);
        const auto mlp = make_model({.name = "mlp", .lambda = lambda, .hidden = {3}}, 5, 2);
        const BatchRequest batch{.data = data, .rows = rows, .factor = left_out ? &none : nullptr};
        const std::vector<float> x(mlp->dim(), 0.1F);
        Workspace workspace;
        OuterProducts gradient;
        EXPECT_EQ(mlp->sample_gradient(x, batch, gradient, workspace).has_value(),
                  !sparse && lambda == 0 && !left_out);
        const auto logistic = make_model({.name = "logistic", .lambda = lambda}, 5, 2);
        EXPECT_FALSE(logistic->sample_gradient(std::span(x).first(logistic->dim()), batch, gradient,
                                               workspace));
      }
}

}  // namespace
}  // namespace porter
