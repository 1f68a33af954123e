// SPDX-License-Identifier: Apache-2.0
#include "porter/data/load.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "data/sources.hpp"
#include "data/summary.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

using Floats = std::vector<float>;

std::string gzip(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(content.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string error_of(const DataOptions& options, const DataFolders& folders = {}) {
  try {
    load_data_from(options, folders);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Load, RecognisesEachFormatPackedOrNot) {
  const TempDir dir;
  const std::string csv = "x,z,label\n1,0,-1\n0,2,1\n";
  const std::string libsvm = "-1 1:1\n+1 2:2\n";
  const auto npz = encode_npz(
      {{"X", {.shape = {2, 2}, .values = {1, 0, 0, 2}}}, {"y", {.shape = {2}, .values = {-1, 1}}}});
  const std::pair<const char*, std::string> files[] = {{"a.csv", csv}, {"a.csv.gz", gzip(csv)},
                                                       {"a", libsvm},  {"a.gz", gzip(libsvm)},
                                                       {"a.npz", npz}, {"renamed", npz}};
  for (const auto& [name, content] : files) {
    SCOPED_TRACE(name);
    write_file(dir / name, content);
    const auto data = load_data({.train = (dir / name).string(), .bias = false});
    EXPECT_EQ(data.train.features, 2U);
    EXPECT_EQ(data.train.labels, (Floats{0, 1}));
    EXPECT_EQ(data.train.classes, (std::vector<std::string>{"-1", "1"}));
    EXPECT_EQ(data.train[1].values.back(), 2.0F);
    EXPECT_DOUBLE_EQ(density(data.train), 0.5);
    EXPECT_FALSE(data.test.has_value());
    EXPECT_EQ(data.source, "file " + (dir / name).string());
  }
}

TEST(Load, GivesTheTestSetTheWidthOfTheTrainingSet) {
  const TempDir dir;
  write_file(dir / "a", "0 3:1\n1 1:1\n");
  write_file(dir / "b", "1 1:1\n");
  const auto train = (dir / "a").string(), test = (dir / "b").string();
  const auto data = load_data({.train = train, .test = test});
  EXPECT_EQ(data.test->features, 4U);
  EXPECT_EQ(load_data({.train = train, .test = test, .features = 9}).test->features, 10U);
  write_file(dir / "c", "1 4:1\n");
  EXPECT_EQ(error_of({.train = train, .test = (dir / "c").string()}),
            (dir / "c").string() + ", line 1: expected feature indices of at most 3, found 4");
  write_file(dir / "d.csv", "1,2,0\n");
  EXPECT_EQ(error_of({.train = train, .test = (dir / "d.csv").string()}),
            (dir / "d.csv").string() + ": expected 3 features as in " + train + ", found 2");
}

TEST(Load, RefusesDamagedFiles) {
  const TempDir dir;
  const auto path = (dir / "a.gz").string();
  const auto whole = gzip("-1 1:1\n+1 2:2\n");
  for (std::size_t size = 2; size < whole.size(); ++size) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);  // quicker than write_file
    EXPECT_NE(error_of({.train = path}), "no error") << size;
  }
  write_file(path, whole.substr(0, whole.size() - 1));
  EXPECT_NE(error_of({.train = path}).find(path + ": the gzip data is truncated or damaged"),
            std::string::npos)
      << error_of({.train = path});
  write_file(path, "");
  EXPECT_EQ(error_of({.train = path}), path + ": the file is empty");
  write_file(path, std::string("\0\0\x08\x03", 4));
  EXPECT_EQ(error_of({.train = path}),
            path +
                ": expected libsvm text, csv or npz, found an IDX file; give it as "
                "train_images, train_labels, test_images or test_labels");
  EXPECT_NE(error_of({.train = "no/such/file"}).find("no/such/file"), std::string::npos);
}

const std::string kImageFile("\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\1\0\xff", 18);
const std::string kLabelFile("\0\0\x08\x01\0\0\0\2\3\5", 10);

TEST(Load, ReadsIdxFiles) {
  const TempDir dir;
  write_file(dir / "images.gz", gzip(kImageFile));
  write_file(dir / "labels", kLabelFile);
  const auto images = (dir / "images.gz").string(), labels = (dir / "labels").string();
  const auto data = load_data({.train_images = images,
                               .train_labels = labels,
                               .test_images = images,
                               .test_labels = labels});
  EXPECT_EQ(data.train.values, (Floats{0, 1, 1, 1}));
  EXPECT_EQ(data.train.classes, (std::vector<std::string>{"3", "5"}));
  EXPECT_EQ(data.test->labels, (Floats{0, 1}));

  auto other = kLabelFile;
  other.back() = 4;
  write_file(dir / "other", other);
  EXPECT_EQ(
      error_of({.train_images = images,
                .train_labels = labels,
                .test_images = images,
                .test_labels = (dir / "other").string()}),
      (dir / "other").string() + ", row 1: expected a label of the training set (3, 5), found 4");
  EXPECT_EQ(error_of({.train_images = images}),
            "data: expected train_images and train_labels together, found only one of them");
  EXPECT_EQ(error_of({.train = "a", .train_images = images, .train_labels = labels}),
            "data: expected either train or train_images and train_labels, found both");
}

TEST(Load, FindsNamedSetsInTheGivenFolderThenInTheCache) {
  const TempDir given, cache;
  const DataFolders folders{.given = given.path(), .cache = cache.path()};
  const DataOptions options{.name = "mushrooms", .bias = false};
  EXPECT_EQ(error_of(options, folders),
            "data set mushrooms: expected the files mushrooms (.gz or unpacked) in PORTER_DATA (" +
                given.path().string() + ") or " + cache.path().string() +
                "; found 0 of 1. To download them: porter data fetch mushrooms");
  write_file(cache / "mushrooms", "1 1:1\n2 2:1\n");
  EXPECT_EQ(load_data_from(options, folders).train.features, 112U);
  write_file(given / "mushrooms.gz", gzip("1 1:1\n2 2:1\n2 2:1\n"));
  EXPECT_EQ(load_data_from(options, folders).train.rows(), 3U);
  EXPECT_FALSE(load_data_from(options, folders).test.has_value());
}

TEST(Load, FindsMnistWithAndWithoutItsFolder) {
  for (const std::string below : {"", "mnist"}) {
    const TempDir dir;
    std::filesystem::create_directories(dir / below);
    for (const std::string part : {"train", "t10k"}) {
      write_file(dir / below / (part + "-images-idx3-ubyte"), kImageFile);
      write_file(dir / below / (part + "-labels-idx1-ubyte.gz"), gzip(kLabelFile));
    }
    const auto data =
        load_data_from({.name = "mnist"}, {.given = dir.path(), .cache = std::nullopt});
    EXPECT_EQ(data.test->rows(), 2U) << below;
  }
}

TEST(Load, RefusesAnUnknownNameAndAStrayTestFile) {
  EXPECT_EQ(error_of({.name = "mnits"}),
            "data.name: expected one of synthetic, synthetic-digits, a9a, mnist, mushrooms, "
            "phishing; found \"mnits\"");
  EXPECT_EQ(error_of({.name = "synthetic", .test = "x"}),
            "data.test: given without train; a named data set has its own test set");
}

}  // namespace
}  // namespace porter
