// SPDX-License-Identifier: Apache-2.0
// Where a guarantee is claimed, classes and width are stated and one record changes nothing else.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>

#include "data/sources.hpp"
#include "data/summary.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;

struct Files {
  TempDir dir;

  std::string write(const std::string& name, const std::string& content) const {
    write_file(dir / name, content);
    return (dir / name).string();
  }
  static DataOptions stated(const std::string& file) {
    return {.train = file, .features = 2, .classes = {0, 1, 2}, .bias = false, .guarantee = true};
  }
};

std::string shape_error(const DataOptions& options) {
  try {
    load_data_from(options, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PublicShape, AGuaranteeNeedsItAndSaysWhatToWrite) {
  const Files files;
  auto options = Files::stated(files.write("a.csv", "1,2,0\n3,4,1\n"));
  EXPECT_EQ(shape_error(options), "no error");
  options.features = 0;
  EXPECT_TRUE(shape_error(options).starts_with("data.features: ")) << shape_error(options);
  options.classes.clear();
  EXPECT_TRUE(shape_error(options).starts_with("data.classes and data.features: "));
  EXPECT_NE(shape_error(options).find("classes = [0, 1]"), std::string::npos);
  options.features = 2;
  EXPECT_TRUE(shape_error(options).starts_with("data.classes: "));
  options.regression = true;
  EXPECT_EQ(shape_error(options), "no error");
  options.guarantee = false;
  options.regression = false;
  EXPECT_EQ(shape_error(options), "no error");  // as ever
}

TEST(PublicShape, KnownDataHaveTheirOwn) {
  const auto data = load_data_from({.name = "synthetic", .guarantee = true}, {});
  const auto usual = load_data_from({.name = "synthetic"}, {});
  EXPECT_EQ(data.train.classes, usual.train.classes);
  EXPECT_EQ(data.train.labels, usual.train.labels);
  EXPECT_EQ(data.train.void_rows(), 0U);
}

TEST(PublicShape, NothingIsMeasuredOnRecordsWithAGuarantee) {
  const Files files;
  auto options = Files::stated(files.write("a.csv", "1,2,0\n3,4,1\n"));
  for (const auto scale : {FeatureScale::spectral, FeatureScale::standard}) {
    options.scale = scale;
    EXPECT_NE(shape_error(options).find("data.scale"), std::string::npos);
  }
  options.scale = FeatureScale::unit;
  EXPECT_EQ(shape_error(options), "no error");
}

TEST(PublicShape, GivenMomentsAreMeasuredOnNoRecord) {
  const Files files;
  const auto rows_beside = [&](const std::string& record) {
    auto options = Files::stated(files.write("a.csv", "1,2,0\n" + record + "\n3,4,1\n"));
    options.scale = FeatureScale::standard;
    options.moments = {1, 4};
    auto values = load_data_from(options, {}).train.values;
    values.erase(values.begin() + 2, values.begin() + 4);
    return values;
  };
  for (const char* record : {"1,2,0", "1e30,-7,1", "nan,x,9", ""})
    EXPECT_EQ(rows_beside(record), (Floats{0, 0.25F, 0.5F, 0.75F})) << record;
}

TEST(PublicShape, ClassesNumberLabelsInTheirOrder) {
  const Files files;
  const auto file = files.write("a.csv", "1,2,5\n3,4,-1\n5,6,5\n");
  const auto data = load_data_from({.train = file, .classes = {5, 7, -1}}, {}).train;
  EXPECT_EQ(data.labels, (Floats{0, 2, 0}));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"5", "7", "-1"}));
  EXPECT_EQ(shape_error({.train = file, .classes = {5, 7}}),
            file + ", line 2: expected a label of data.classes (5, 7), found -1");
}

TEST(PublicShape, TheWidthHoldsForEveryFormat) {
  const Files files;
  const auto csv = files.write("a.csv", "1,2,0\n3,4,1\n");
  EXPECT_EQ(shape_error({.train = csv, .features = 3}),
            csv + ": expected 3 features as data.features says, found 2");
  const auto npz =
      files.write("a.npz", encode_npz({{"X", {{2, 2}, {1, 2, 3, 4}}}, {"y", {{2}, {0, 1}}}}));
  EXPECT_EQ(shape_error({.train = npz, .features = 3}),
            npz + ": expected 3 features as data.features says, found 2");
}

// The record in the middle is what is tried; the others stay what they are.
void expect_void(const Files& files, const std::string& name, const std::string& first,
                 const std::string& record, const std::string& last) {
  SCOPED_TRACE(name + ": " + record);
  const auto file = files.write(name, first + record + "\n" + last);
  const auto pair = load_data_from(Files::stated(file), {});
  const auto& data = pair.train;
  ASSERT_EQ(data.rows(), 3U);
  EXPECT_EQ(data.features, 2U);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ((Bytes{data.is_void(0), data.is_void(1), data.is_void(2)}), (Bytes{0, 1, 0}));
  EXPECT_EQ(data.labels[0], 0.0F);
  EXPECT_EQ(data.labels[2], 2.0F);
  EXPECT_EQ(data[2].values.back(), 4.0F);
  EXPECT_NE(pair.warning.find("1 of 3 records"), std::string::npos) << pair.warning;
  EXPECT_NE(pair.warning.find("line 2"), std::string::npos) << pair.warning;
  EXPECT_EQ(pair.source.find("record"), std::string::npos);
  // Where nothing is promised it is a mistake to mend.
  auto strict = Files::stated(file);
  strict.guarantee = false;
  EXPECT_NE(shape_error(strict), "no error");
}

TEST(PublicShape, ARecordThatDoesNotFitKeepsItsPlaceAndCountsForNothing) {
  const Files files;
  for (const char* record : {"9 1:1", "-7 1:1", "nan 1:1", "x 1:1", "1 3:1", "1 1:nan", "1 1:1e999",
                             "1 2:1 1:1", "1 0:1", "1 1", "1.5 1:1", "1 99999999999999999999:1"})
    expect_void(files, "a", "0 1:1\n", record, "2 1:3 2:4\n");
  for (const char* record : {"1,2,9", "1,2,-7", "1,2,nan", "1,2,x", "1,2,", "1,2", "1,2,3,1",
                             "nan,2,1", "1,1e999,1", ",,", "text"})
    expect_void(files, "a.csv", "1,2,0\n", record, "3,4,2\n");
}

TEST(PublicShape, TheNumberOfRecordsIsThatOfTheLinesWhateverTheyHold) {
  const Files files;
  for (const std::string line : {"1,2,0", "a,b,c", "", "   ", "# 1", "1,2,0,4"}) {
    SCOPED_TRACE(line);
    for (const auto& text : {line + "\n3,4,1\n5,6,2\n", "3,4,1\n" + line + "\n5,6,2\n"})
      EXPECT_EQ(load_data_from(Files::stated(files.write("a.csv", text)), {}).train.rows(), 3U);
  }
  for (const std::string line : {"0 1:1 2:2", "a", "", "   ", "# 1", "0 9:1"}) {
    SCOPED_TRACE(line);
    for (const auto& text : {line + "\n1 1:3\n2 1:5\n", "1 1:3\n" + line + "\n2 1:5\n"})
      EXPECT_EQ(load_data_from(Files::stated(files.write("a.libsvm", text)), {}).train.rows(), 3U);
  }
}

TEST(PublicShape, AnArrayHoldsVoidRowsToo) {
  const Files files;
  const auto file = files.write("a.npz", encode_npz({{"X", {{4, 2}, {1, 2, NAN, 1, 3, 4, 5, 6}}},
                                                     {"y", {{4}, {0, 1, 7, INFINITY}}}}));
  const auto pair = load_data_from(Files::stated(file), {});
  EXPECT_EQ(pair.train.voids, (Bytes{0, 1, 1, 1}));
  EXPECT_NE(pair.warning.find("3 of 4 records"), std::string::npos) << pair.warning;
}

TEST(PublicShape, WhichClassesOccurDoesNotMatter) {
  const Files files;
  const auto data = load_data_from(Files::stated(files.write("a", "1 1:1\n1 2:1\n")), {}).train;
  EXPECT_EQ(data.classes.size(), 3U);
  EXPECT_EQ(data.labels, (Floats{1, 1}));
  EXPECT_EQ(load_data_from(Files::stated(files.write("b", "7 1:1\n8 9:1\n")), {}).train.void_rows(),
            2U);  // all of them
}

TEST(PublicShape, VoidRecordsFollowTheirRowsAndAreOfNoClass) {
  Dataset data;
  data.features = 1;
  data.values = {1, 2, 3};
  data.labels = {0, 0, 1};
  data.classes = {"0", "1"};
  data.voids = {1};
  const auto picked = select_rows(data, std::vector<std::uint32_t>{2, 0, 1});
  EXPECT_EQ(picked.voids, (Bytes{0, 1, 0}));
  EXPECT_EQ(class_counts(data), (std::vector<std::size_t>{1, 1}));
  EXPECT_EQ(class_rate(data, 0), 0.5);
  EXPECT_EQ(counted_rows(data)->values, (Floats{2, 3}));
  data.voids.clear();
  EXPECT_FALSE(counted_rows(data).has_value());
}

// A pipe would be waited for until somebody writes, a device read until memory ends.
TEST(Load, RefusesWhatIsNoRegularFileAtOnce) {
  const Files files;
  const auto pipe = (files.dir / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& path : {pipe, std::string("/dev/zero")})
    EXPECT_EQ(shape_error({.train = path}),
              "cannot read " + path + ": expected a regular file, found a pipe or device");
  EXPECT_NE(shape_error({.train_images = pipe, .train_labels = pipe}).find("pipe or device"),
            std::string::npos);
  EXPECT_NE(shape_error({.train = files.dir.path().string()}).find("it is a folder"),
            std::string::npos);
}

}  // namespace
}  // namespace porter
