// SPDX-License-Identifier: Apache-2.0
// Rows with several targets: from an array to the samples of a regression.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "data/sources.hpp"
#include "data/summary.hpp"
#include "data/table_cache.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "temp_dir.hpp"
#include "toy_data.hpp"

namespace porter {
namespace {

using Floats = std::vector<float>;

// Three rows of two features.
std::string three_rows(std::vector<std::size_t> shape, std::vector<double> y) {
  return encode_npz({{"X", {{3, 2}, {1, 2, 3, 4, 5, 6}}}, {"y", {std::move(shape), std::move(y)}}});
}

const std::string kTwoTargets = three_rows({3, 2}, {10, 20, 11, 21, 9, 22});

struct TargetFiles {
  TempDir dir;

  std::string write(const std::string& name, const std::string& content) const {
    write_file(dir / name, content);
    return (dir / name).string();
  }
};

std::string target_error(const DataOptions& options) {
  try {
    load_data_from(options, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Targets, OfAnArrayBecomeThoseOfItsRows) {
  const TargetFiles files;
  const auto file = files.write("a.npz", kTwoTargets);
  const auto data =
      load_data_from({.train = file, .test = file, .bias = true, .regression = true}, {});
  for (const auto* set : {&data.train, &*data.test}) {
    EXPECT_EQ(set->rows(), 3U);
    EXPECT_EQ(set->outputs, 2U);
    EXPECT_EQ(set->scores(), 2U);
    EXPECT_EQ(set->features, 3U);
    EXPECT_EQ(set->labels, (Floats{10, 20, 11, 21, 9, 22}));
    const auto sample = (*set)[1];
    EXPECT_EQ(Floats(sample.values.begin(), sample.values.end()), (Floats{3, 4, 1}));
    EXPECT_EQ(Floats(sample.targets.begin(), sample.targets.end()), (Floats{11, 21}));
    EXPECT_EQ(sample.label, 11);
  }
}

TEST(Targets, OfOneColumnAreAsWithoutColumns) {
  const TargetFiles files;
  for (const auto& shape : std::vector<std::vector<std::size_t>>{{3}, {3, 1}}) {
    const auto file = files.write("a.npz", three_rows(shape, {7, 8, 7}));
    EXPECT_EQ(load_data_from({.train = file, .regression = true}, {}).train.outputs, 1U);
    EXPECT_EQ(load_data_from({.train = file}, {}).train.classes.size(), 2U);
  }
}

TEST(Targets, WhatDoesNotFitIsRefusedByName) {
  const TargetFiles files;
  const auto two = files.write("two.npz", kTwoTargets);
  const auto one = files.write("one.npz", three_rows({3}, {1, 2, 1}));
  EXPECT_EQ(target_error({.train = two}),
            two +
                ": expected one label in each row, its class, found y with 2 columns; several "
                "targets are for a regression (model linear, or mlp with model.loss)");
  EXPECT_TRUE(target_error({.train = one, .test = two}).starts_with(two));
  EXPECT_EQ(target_error({.train = two, .test = one, .regression = true}),
            one + ": expected 2 targets in each row as in " + two + ", found 1");
  EXPECT_TRUE(target_error({.train = two, .features = 2, .classes = {1, 2}, .guarantee = true})
                  .starts_with(two + ": expected one label"));
  const auto bad = files.write("bad.npz", three_rows({3, 2}, {1, 2, 3, 4, 5, NAN}));
  EXPECT_EQ(target_error({.train = bad, .regression = true}),
            bad + ", row 2: expected a finite number as the label in y, found nan");
}

TEST(Targets, OneThatIsNoNumberMakesItsRecordCountForNothing) {
  const TargetFiles files;
  const auto file = files.write("a.npz", three_rows({3, 2}, {1, 2, NAN, 4, 5, 1e300}));
  const auto data =
      load_data_from(
          {.train = file, .features = 2, .bias = false, .regression = true, .guarantee = true}, {})
          .train;
  EXPECT_EQ(data.voids, (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT_EQ(data.labels, (Floats{1, 2, 0, 4, 5, 0}));
  const auto counted = *counted_rows(data);
  EXPECT_EQ(counted.rows(), 1U);
  EXPECT_EQ(counted.labels, (Floats{1, 2}));
}

TEST(Targets, FollowTheirRows) {
  const auto data = toy_targets(40, 5, 3, true);
  const std::vector<std::uint32_t> rows = {7, 0, 39, 7};
  const auto some = select_rows(data, rows);
  ASSERT_EQ(some.rows(), 4U);
  EXPECT_EQ(some.outputs, 3U);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(some[i].targets, data[rows[i]].targets)) << i;
  const auto sorted = partition_rows(data, 4, parse_split("by-label"), 1);  // by the first target
  ASSERT_EQ(sorted.size(), 40U);
  for (std::size_t i = 1; i < sorted.size(); ++i)
    EXPECT_LE(data[sorted[i - 1]].label, data[sorted[i]].label);
}

TEST(Targets, SurviveTheCache) {
  FileTable table{.name = "f", .labels = {1, 2, 3, 4, 5, 6}};
  table.data.features = 2;
  table.data.outputs = 3;
  table.data.values = {1, 2, 3, 4};
  const auto bytes = encode_table(table, "key\n");
  const auto back = decode_table(bytes, "key\n");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->data.outputs, 3U);
  EXPECT_EQ(back->rows(), 2U);
  EXPECT_EQ(back->labels, table.labels);
  EXPECT_EQ(back->data.values, table.data.values);
}

TEST(Targets, OfALargeFileAreTheSameFromTheCache) {
  const TargetFiles files;
  const auto data = toy_targets(4000, 6, 2, false);
  Npz arrays = {{"X", {{4000, 6}, {data.values.begin(), data.values.end()}}},
                {"y", {{4000, 2}, {data.labels.begin(), data.labels.end()}}}};
  const auto file = files.write("a.npz", encode_npz(arrays));
  const DataOptions options{.train = file, .bias = false, .regression = true};
  const auto parsed = load_data_from(options, {}).train;
  for (int time = 0; time < 2; ++time) {
    const auto cached = load_data_from(options, {.given = {}, .cache = files.dir / "cache"}).train;
    EXPECT_EQ(cached.outputs, 2U);
    EXPECT_EQ(cached.labels, parsed.labels);
    EXPECT_EQ(cached.values, parsed.values);
  }
  EXPECT_FALSE(std::filesystem::is_empty(files.dir / "cache" / "parsed"));
}

TEST(Targets, HaveTheSpreadOfAPlainSum) {
  auto data = toy_targets(50, 4, 3, false);
  data.voids = {0, 1, 0, 0, 1};
  double spread = 0;
  for (std::size_t o = 0; o < 3; ++o) {
    std::vector<double> y;
    for (std::size_t row = 0; row < 50; ++row)
      if (!data.is_void(row)) y.push_back(double{data.targets(row)[o]});
    const double mean = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
    for (const double value : y) spread += (value - mean) * (value - mean);
  }
  EXPECT_NEAR(target_spread(data), spread, 1e-12 * spread);
  for (const float equal : {0.1F, 1e30F, -7.3F}) {
    std::fill(data.labels.begin(), data.labels.end(), equal);
    EXPECT_EQ(target_spread(data), 0) << equal;
  }
  data.voids.assign(50, 1);
  EXPECT_EQ(target_spread(data), 0);
}

}  // namespace
}  // namespace porter
