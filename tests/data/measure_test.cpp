// SPDX-License-Identifier: Apache-2.0
#include "data/measure.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "porter/data/load.hpp"
#include "says.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

const char* kOpenSchema = R"(
[label]
name = "ill"
classes = ["no", "yes"]
[[column]]
name = "age"
range = [0, 120]
outside = "clamp"
scale = "measured"
[[column]]
name = "job"
kind = "category"
values = ["clerk", "cook"]
[[column]]
name = "income"
range = "measured"
scale = "measured"
missing = "own"
[[column]]
name = "dose"
range = "measured"
scale = "range"
)";

std::string with_other(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

// A table as statistic_schema reads it: per column a value, and whether it is missing.
Dataset statistic_table(const std::vector<std::vector<float>>& rows) {
  Dataset data;
  data.features = rows.at(0).size();
  for (const auto& row : rows) {
    data.values.insert(data.values.end(), row.begin(), row.end());
    data.labels.push_back(0);
  }
  return data;
}

std::vector<double> mean_of(const Dataset& statistics) {
  std::vector<double> mean(statistics.features);
  for (std::size_t row = 0; row < statistics.rows(); ++row) {
    const auto sample = statistics[row];
    for (std::size_t i = 0; i < sample.values.size(); ++i)
      mean[sample.columns[i]] += double{sample.values[i]} / static_cast<double>(statistics.rows());
  }
  return mean;
}

double length_of(const Sample& sample) {
  double squares = 0;
  for (const float value : sample.values) squares += double{value} * double{value};
  return std::sqrt(squares);
}

TEST(MeasuredSchema, ReadsBackWhatItWritesBeforeAndAfter) {
  const auto open = parse_schema(kOpenSchema, "s");
  EXPECT_TRUE(open.measures_range() && open.measures_moments() && !open.is_complete());
  EXPECT_EQ(parse_schema(to_toml(open), "again").columns, open.columns);
  EXPECT_EQ(open.columns[2].outside, Outside::clamp);
  auto full = open;
  full.columns[0].mean = 40;
  full.columns[0].deviation = 12;
  for (const int c : {0, 2})
    full.columns[static_cast<std::size_t>(c)].scale = ColumnScale::standard;
  for (const int c : {2, 3}) {
    full.columns[static_cast<std::size_t>(c)].low = -4;
    full.columns[static_cast<std::size_t>(c)].high = 8;
  }
  EXPECT_TRUE(full.is_complete() && full.measures());
  EXPECT_EQ(parse_schema(to_toml(full), "again").columns, full.columns);
  EXPECT_TRUE(says(to_toml(full), "measured = [\"range\", \"moments\"]")) << to_toml(full);
  EXPECT_EQ(before_measuring(full).columns, open.columns);
  EXPECT_EQ(full.features(), open.features());
  EXPECT_NE(schema_hash(full), schema_hash(open));
}

TEST(MeasuredSchema, WrongRequestsAreOneClearError) {
  for (const auto& [from, to, expected] : std::vector<std::array<const char*, 3>>{
           {"range = [0, 120]\noutside = \"clamp\"\n", "", "needs the range, stated or measured"},
           {"range = [0, 120]", "range = \"guessed\"", "or \"measured\", found 'guessed'"},
           {"scale = \"range\"", "scale = \"range\"\nmeasured = [\"moments\"]", "measured"},
           {"scale = \"range\"", "scale = \"range\"\nmean = 3", "mean"}}) {
    const auto text = with_other(kOpenSchema, from, to);
    const auto error = what_fails([&] { parse_schema(text, "s"); });
    EXPECT_TRUE(says(error, expected)) << to << ": " << error;
  }
  // Nothing can be read with what is not there yet.
  const TempDir dir;
  write_file(dir / "t.csv", "age,job,income,dose,ill\n1,cook,2,3,no\n");
  const auto error = what_fails([&] {
    load_data({.train = (dir / "t.csv").string(),
               .schema = std::make_shared<const Schema>(parse_schema(kOpenSchema, "s"))});
  });
  EXPECT_TRUE(says(error, "\"age\" are still to be measured")) << error;
}

TEST(RecordStatistics, AreNeverLongerThanPromised) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kMax = std::numeric_limits<float>::max();
  const std::vector<float> values = {
      0,      1,     0.5F, -1,   2,    1e30F, -1e30F,
      1e-40F, -kMax, kMax, kNan, kInf, -kInf, std::nextafter(1.0F, 2.0F)};
  RngStream rng(1, Draw::test, 0, 0);
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < 2000; ++i) {
    std::vector<float> row;
    for (int c = 0; c < 3; ++c) {
      const auto pick = rng.below(2 * values.size());
      row.push_back(pick < values.size() ? values[pick] : static_cast<float>(2 * rng.normal()));
      row.push_back(rng.below(4) == 0 ? 1.0F : 0.0F);
    }
    rows.push_back(row);
  }
  auto data = statistic_table(rows);
  data.voids = {1, 0, 1};
  for (const auto statistic : {Statistic::ranges, Statistic::moments}) {
    const auto found = record_statistics(data, statistic);
    ASSERT_EQ(found.rows(), data.rows());
    EXPECT_EQ(found.features, statistic_size(statistic, 3));
    double longest = 0;
    for (std::size_t row = 0; row < found.rows(); ++row) {
      const double length = length_of(found[row]);
      EXPECT_LE(length, statistic_norm(statistic, 3)) << row;  // false for NaN
      longest = std::max(longest, length);
    }
    EXPECT_NEAR(longest, statistic_norm(statistic, 3), 1e-6);  // the bound is not loose
    EXPECT_EQ(length_of(found[0]) + length_of(found[2]), 0);   // they count for nothing
  }
}

TEST(WithStatistic, WithoutNoiseTheRangeHoldsAllValuesAndLittleMore) {
  const auto schema = parse_schema(kOpenSchema, "s");
  RngStream rng(2, Draw::test, 0, 0);
  for (const double size : {1e-6, 0.3, 1.0, 77.0, 1e9}) {
    std::vector<std::vector<float>> rows;
    double low = 1e300, high = -1e300;
    for (int i = 0; i < 500; ++i) {
      const double income = size * rng.normal(), dose = size * (1 + std::abs(rng.normal()));
      rows.push_back({static_cast<float>(income), 0, static_cast<float>(dose), 0});
      low = std::min(low, double{static_cast<float>(dose)});
      high = std::max(high, double{static_cast<float>(dose)});
      if (i % 7 == 0) rows.push_back({0, 1, 0, 1});
    }
    const auto mean = mean_of(record_statistics(statistic_table(rows), Statistic::ranges));
    const auto full = with_statistic(schema, Statistic::ranges,
                                     {.mean = mean, .records = static_cast<double>(rows.size())});
    for (const auto& row : rows) {
      EXPECT_LE(*full.columns[2].low, row[0]);
      EXPECT_GE(*full.columns[2].high, row[0]);
    }
    EXPECT_LT(*full.columns[2].low, 0);
    EXPECT_LE(*full.columns[3].low, low);
    EXPECT_GT(*full.columns[3].low, low / 2.0001);
    EXPECT_GE(*full.columns[3].high, high);
    EXPECT_LT(*full.columns[3].high, 2.0001 * high);
  }
}

TEST(WithStatistic, WithoutNoiseMomentsAreThoseOfAPlainLoop) {
  auto schema = parse_schema(kOpenSchema, "s");
  for (auto& column : schema.columns)
    if (column.measured_range) column.low = -10, column.high = 30;
  RngStream rng(3, Draw::test, 0, 0);
  std::vector<std::vector<float>> rows;
  double count = 0, sum = 0, squares = 0;
  for (int i = 0; i < 4000; ++i) {
    const double place = std::clamp(0.4 + 0.1 * rng.normal(), 0.0, 1.0);
    const bool missing = i % 5 == 0;
    rows.push_back({0.25F, 0, missing ? 0 : static_cast<float>(place), missing ? 1.0F : 0.0F});
    if (missing) continue;
    const double income = -10 + 40 * place;
    count += 1, sum += income, squares += income * income;
  }
  const auto mean = mean_of(record_statistics(statistic_table(rows), Statistic::moments));
  const auto full = with_statistic(schema, Statistic::moments, {.mean = mean, .records = 4000});
  const auto& income = full.columns[2];
  EXPECT_NEAR(income.mean, sum / count, 1e-4);
  EXPECT_NEAR(income.deviation, std::sqrt(squares / count - std::pow(sum / count, 2)), 1e-4);
  EXPECT_NEAR(full.columns[0].mean, 30, 1e-4);
  EXPECT_NEAR(full.columns[0].deviation, 0.06, 1e-9);  // all the same: never nothing
}

TEST(WithStatistic, WhatNoiseHidesIsAnErrorThatNamesTheColumn) {
  const auto schema = parse_schema(kOpenSchema, "s");
  const std::vector<double> ranges(statistic_size(Statistic::ranges, 2), 0.01);
  const auto range = what_fails([&] {
    with_statistic(schema, Statistic::ranges,
                   {.mean = ranges, .records = 1000, .noise_stddev = 0.01});
  });
  EXPECT_TRUE(says(range, "'income': its range") && says(range, "60 of 1000 records")) << range;
  const std::vector<double> moments(statistic_size(Statistic::moments, 2), 0.01);
  const auto mean = what_fails([&] {
    with_statistic(schema, Statistic::moments,
                   {.mean = moments, .records = 1000, .noise_stddev = 0.01});
  });
  EXPECT_TRUE(says(mean, "'age': how many records")) << mean;
}

TEST(StatisticSchema, ReadsOnlyItsColumnsFromTheFile) {
  const TempDir dir;
  write_file(dir / "t.csv",
             "age,job,income,dose,ill\n"
             "500,cook,NA,3,no\n"
             "60,unheard of,-2.5,4e9,yes\n"
             "x,cook,1,1,no\n");
  const auto open = parse_schema(kOpenSchema, "s");
  DataOptions options{.train = (dir / "t.csv").string(), .bias = false, .guarantee = true};
  options.schema = std::make_shared<const Schema>(statistic_schema(open, Statistic::ranges));
  const auto ranges = load_data(options).train;
  EXPECT_EQ(ranges.values, (std::vector<float>{0, 1, 3, 0, -2.5F, 0, 4e9F, 0, 1, 0, 1, 0}));
  EXPECT_EQ(ranges.void_rows(), 0U);
  auto ranged = open;
  for (const std::size_t c : {2U, 3U}) ranged.columns[c].low = -4, ranged.columns[c].high = 4;
  options.schema = std::make_shared<const Schema>(statistic_schema(ranged, Statistic::moments));
  const auto moments = load_data(options).train;
  EXPECT_TRUE(moments.is_void(2));  // its age is no number
  EXPECT_EQ(std::vector(moments.values.begin(), moments.values.begin() + 8),
            (std::vector<float>{1, 0, 0, 1, 0.5F, 0, 0.1875F, 0}));
}

}  // namespace
}  // namespace porter
