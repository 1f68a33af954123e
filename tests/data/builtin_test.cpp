// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/sources.hpp"
#include "data/summary.hpp"
#include "data/table_cache.hpp"
#include "grouped_locale.hpp"
#include "io/file.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

constexpr std::size_t kPixels = 784;

double margin(const Sample& sample, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i < sample.values.size(); ++i)
    sum += sample.values[i] * x[sample.columns[i]];
  return sum;
}

// Plain logistic regression by passes of stochastic gradient descent with a falling step.
std::vector<double> fit_logistic(const Dataset& data) {
  std::vector<double> x(data.features, 0.0);
  for (const double step : {0.1, 0.03, 0.01})
    for (std::size_t row = 0; row < data.rows(); ++row) {
      const auto sample = data[row];
      const double residual = 1 / (1 + std::exp(-margin(sample, x))) - sample.label;
      for (const auto column : sample.columns) x[column] -= step * residual;
    }
  return x;
}

double accuracy(const Dataset& data, const std::vector<double>& x) {
  std::size_t right = 0;
  for (std::size_t row = 0; row < data.rows(); ++row)
    right += (margin(data[row], x) > 0) == (data.labels[row] > 0);
  return static_cast<double>(right) / static_cast<double>(data.rows());
}

TEST(Synthetic, LooksLikeA9a) {
  const auto data = load_data({.name = "synthetic", .bias = false});
  EXPECT_EQ(data.train.rows(), 32560U);
  EXPECT_EQ(data.test->rows(), 16281U);
  EXPECT_EQ(data.train.features, 123U);
  EXPECT_EQ(data.train.classes, (std::vector<std::string>{"-1", "1"}));
  std::set<std::size_t> sizes;
  for (std::size_t row = 0; row < data.train.rows(); ++row)
    sizes.insert(data.train[row].values.size());
  EXPECT_EQ(sizes, (std::set<std::size_t>{11, 12, 13, 14}));
  EXPECT_TRUE(std::all_of(data.train.values.begin(), data.train.values.end(),
                          [](float value) { return value == 1; }));
  const std::set<std::uint32_t> used(data.train.columns.begin(), data.train.columns.end());
  EXPECT_EQ(used.size(), 123U);
  // The content is fixed; 0.005 leaves room for no more than another C library's exp.
  EXPECT_NEAR(class_rate(data.train, 0), 0.7604, 0.005);
  EXPECT_NEAR(class_rate(*data.test, 0), 0.7605, 0.005);
}

TEST(Synthetic, GivesALinearModelEightyFivePercent) {
  const auto data = load_data({.name = "synthetic"});
  const double reached = accuracy(*data.test, fit_logistic(data.train));
  EXPECT_GT(reached, 0.845);
  EXPECT_LT(reached, 0.865);
}

TEST(Digits, AreTheSameForAnyNumberOfThreadsAndAnyRange) {
  ThreadPool one(1), two(2);
  const auto digits = draw_digits(0, 500, one);
  const auto again = draw_digits(0, 500, two);
  EXPECT_EQ(digits.labels, again.labels);
  EXPECT_EQ(digits.pixels, again.pixels);
  const auto part = draw_digits(490, 10, two);
  EXPECT_EQ(part.pixels, digits.pixels.substr(490 * kPixels));
}

// Drawing uses + - * / and square roots only, so the bits are the same everywhere; a change of the
// drawing must also raise the version of the cache.
TEST(Digits, AreTheKnownOnesInAnyLocale) {
  const GroupedLocale locale;
  ThreadPool pool(1);
  const auto digits = draw_digits(0, 100, pool);
  EXPECT_EQ(sha256_hex(digits.labels + digits.pixels),
            "bc94cabaffe7d66393091c2d8928107ce6e9a84cc5be0318043ac7e1615e1f39");
}

TEST(Digits, HaveAllClassesAndTellThemApart) {
  ThreadPool pool(2);
  const auto digits = draw_digits(0, 1000, pool);
  // The mean image of each class from the first 800 classifies the other 200.
  std::vector<std::vector<double>> mean(10, std::vector<double>(kPixels, 0.0));
  std::vector<double> count(10, 0.0);
  const auto pixel = [&](std::size_t i, std::size_t j) {
    return static_cast<unsigned char>(digits.pixels[i * kPixels + j]) / 255.0;
  };
  for (std::size_t i = 0; i < 800; ++i) {
    const auto digit = static_cast<std::size_t>(digits.labels[i]);
    ASSERT_LT(digit, 10U);
    ++count[digit];
    for (std::size_t j = 0; j < kPixels; ++j) mean[digit][j] += pixel(i, j);
  }
  int right = 0;
  for (std::size_t i = 800; i < 1000; ++i) {
    std::vector<double> distance(10, 0.0);
    for (std::size_t digit = 0; digit < 10; ++digit)
      for (std::size_t j = 0; j < kPixels; ++j) {
        const double gap = pixel(i, j) - mean[digit][j] / count[digit];
        distance[digit] += gap * gap;
      }
    right +=
        std::min_element(distance.begin(), distance.end()) - distance.begin() == digits.labels[i];
  }
  for (std::size_t digit = 0; digit < 10; ++digit) EXPECT_GT(count[digit], 50) << digit;
  EXPECT_GT(right, 100);  // chance would be 20; not so easy that nothing is left to learn
  EXPECT_LT(right, 190);
}

TEST(Digits, AreKeptInTheCacheAndDrawnAgainWhenItIsDamaged) {
  const TempDir dir;
  const auto cache = dir / "new" / "folder", file = cache / "parsed" / "synthetic-digits-0";
  const auto drawn = digit_table(cache, 0, 20);
  const auto kept = read_file(file);

  // Other digits in the cache, whole and with the right key: they are what is read.
  const auto others = digit_table(std::nullopt, 1000, 20);
  write_file(file, encode_table(others, "digits 1 0 20\n"));
  EXPECT_EQ(digit_table(cache, 0, 20).data.values, others.data.values);
  EXPECT_EQ(digit_table(cache, 0, 19).data.values,
            std::vector(drawn.data.values.begin(), drawn.data.values.begin() + 19 * 784));

  write_file(file, kept.substr(0, kept.size() / 2));
  EXPECT_EQ(digit_table(cache, 0, 20).data.values, drawn.data.values);
  EXPECT_EQ(digit_table(cache, 0, 20).labels, drawn.labels);
  EXPECT_EQ(read_file(file), kept);
}

TEST(Digits, NeedNoCache) {
  EXPECT_EQ(digit_table("/dev/null/folder", 0, 5).data.values,
            digit_table(std::nullopt, 0, 5).data.values);
}

}  // namespace
}  // namespace porter
