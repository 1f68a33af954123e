// SPDX-License-Identifier: Apache-2.0
#include "porter/data/image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "core/text.hpp"
#include "data/sources.hpp"
#include "io/file.hpp"
#include "paths.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "says.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

using Floats = std::vector<float>;

/// A line of images.csv, which image_reference.py wrote.
struct Line {
  std::string what;
  ImageShape shape;
  std::vector<double> values;
};

std::vector<Line> reference_lines() {
  const auto file = std::filesystem::path(source_dir()) / "tests/data/images.csv";
  std::istringstream text(read_file(file));
  std::vector<Line> lines;
  std::string line, field;
  std::getline(text, line);  // the header
  while (std::getline(text, line)) {
    std::istringstream fields(line);
    auto& [what, shape, values] = lines.emplace_back();
    std::getline(fields, what, ',');
    while (std::getline(fields, field, ',')) values.push_back(*parse_number<double>(field));
    shape = {static_cast<std::size_t>(values[0]), static_cast<std::size_t>(values[1])};
    values.erase(values.begin(), values.begin() + 2);
  }
  return lines;
}

Dataset images_of(const ImageShape& shape, Floats pixels) {
  Dataset data;
  data.features = shape.pixels();
  data.labels.assign(pixels.size() / shape.pixels(), 0);
  data.values = std::move(pixels);
  return data;
}

Floats transformed(TransformKind kind, const ImageShape& shape, Floats pixels) {
  auto data = images_of(shape, std::move(pixels));
  const ImageTransform transform{kind, shape};
  transform.apply(data);
  EXPECT_EQ(data.features, transform.features());
  EXPECT_EQ(data.values.size(), data.rows() * data.features);
  return data.values;
}

Floats random_pixels(std::size_t count, std::uint32_t which) {
  Floats pixels(count);
  RngStream rng(3, Draw::data, 0, which);
  for (float& pixel : pixels) pixel = static_cast<float>(rng.uniform());
  return pixels;
}

double norm(const Floats& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

std::vector<TransformKind> all_transforms() {
  std::vector<TransformKind> kinds;
  for (const auto kind : all_choices<TransformKind>())
    if (kind != TransformKind::none) kinds.push_back(kind);
  return kinds;
}

// Features are at most 1 and rounded to float; the reference has seven digits.
TEST(ImageTransform, IsWhatTheReferenceComputes) {
  Floats pixels;
  std::size_t compared = 0;
  for (const auto& [what, shape, values] : reference_lines()) {
    if (what == "image") {
      pixels.clear();
      for (const double value : values) pixels.push_back(static_cast<float>(value / 255));
      continue;
    }
    const auto features = transformed(*find_choice<TransformKind>(what), shape, pixels);
    ASSERT_EQ(features.size(), values.size()) << what;
    for (std::size_t i = 0; i < features.size(); ++i)
      ASSERT_NEAR(double{features[i]}, values[i], 1e-6 + 1e-5 * std::abs(values[i]))
          << what << ' ' << to_string(shape) << ' ' << i;
    ++compared;
  }
  EXPECT_EQ(compared, 4 * all_transforms().size());
}

TEST(ImageTransform, RowsHaveUnitLengthAndConstantImagesNone) {
  const ImageShape shape{12, 10};
  for (const auto kind : all_transforms()) {
    EXPECT_NEAR(norm(transformed(kind, shape, random_pixels(120, 1))), 1,
                kind == TransformKind::hog           ? 1e-5
                : kind == TransformKind::hog_centred ? 1e-2
                                                     : 0.1);
    EXPECT_EQ(norm(transformed(kind, shape, Floats(120, 0.0F))), 0);
    EXPECT_LT(norm(transformed(kind, shape, Floats(120, 0.7F))), 1e-9);
  }
}

TEST(ImageTransform, FiniteImagesHaveFiniteFeatures) {
  const ImageShape shape{8, 9};
  for (const auto kind : all_transforms())
    for (const float size : {1e-45F, 1e-30F, 3e38F}) {
      auto pixels = random_pixels(72, 2);
      for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] *= i % 2 == 0 ? size : -size;
      for (const float value : transformed(kind, shape, pixels))
        ASSERT_TRUE(std::isfinite(value) && std::abs(value) <= 1.0001F) << size;
    }
}

TEST(ImageTransform, ARowIsAFunctionOfItsOwnRecord) {
  const ImageShape shape{11, 8};
  const auto pixels = random_pixels(200 * shape.pixels(), 3);
  for (const auto kind : all_transforms()) {
    const auto all = transformed(kind, shape, pixels);
    const auto width = all.size() / 200;
    for (const std::size_t row : {0, 1, 63, 64, 130, 199}) {
      const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>(row * shape.pixels());
      const auto alone =
          transformed(kind, shape, {begin, begin + static_cast<std::ptrdiff_t>(shape.pixels())});
      EXPECT_TRUE(std::ranges::equal(alone, std::span(all).subspan(row * width, width))) << row;
    }
  }
}

TEST(ImageTransform, SparseRowsAreImagesToo) {
  const ImageShape shape{8, 9};
  Floats pixels(2 * 72, 0.0F);
  Dataset sparse;
  sparse.features = 72;
  sparse.labels = {0, 0};
  sparse.row_starts = {0};
  for (std::uint32_t i = 0; i < pixels.size(); ++i) {
    if (i % 5 == 0) {
      pixels[i] = static_cast<float>(i);
      sparse.values.push_back(pixels[i]);
      sparse.columns.push_back(i % 72);
    }
    if (i % 72 == 71) sparse.row_starts.push_back(sparse.values.size());
  }
  for (const auto kind : all_transforms()) {
    auto data = sparse;
    ImageTransform{kind, shape}.apply(data);
    EXPECT_FALSE(data.sparse());
    EXPECT_EQ(data.values, transformed(kind, shape, pixels));
  }
}

TEST(ImageTransform, RefusesWhatDoesNotFit) {
  const auto error = [](const ImageTransform& transform, std::size_t features) {
    auto data = images_of({1, features}, Floats(features));
    return what_fails([&] { transform.apply(data); });
  };
  for (const auto kind : all_transforms()) {
    EXPECT_TRUE(says(error({kind, {}}, 784), "image = \"28x28\""));
    EXPECT_TRUE(says(error({kind, {28, 28}}, 783), "784 pixels, and the records 783 features"));
    EXPECT_TRUE(says(error({kind, {1, 100}}, 100), "found 1x100"));
  }
}

TEST(ImageShape, IsHeightThenWidth) {
  EXPECT_EQ(parse_image_shape("28x30"), (ImageShape{28, 30}));
  EXPECT_EQ(to_string(parse_image_shape("7x4096")), "7x4096");
  for (const char* text : {"", "x", "28", "28x", "x28", "0x28", "28x0", "-1x3", "28x28x3", "28X28",
                           "4097x1", "1x99999999999999999999"})
    EXPECT_TRUE(says(what_fails([&] { parse_image_shape(text); }), "expected HEIGHTxWIDTH"))
        << text;
}

// Turned by a right angle, a cell's gradients are another cell's, and point two directions further.
TEST(Hog, TurnsWithTheImage) {
  constexpr std::size_t kSide = 14;
  const ImageShape shape{kSide, kSide};
  const auto pixels = random_pixels(shape.pixels(), 4);
  Floats turned(pixels.size());
  for (std::size_t y = 0; y < kSide; ++y)
    for (std::size_t x = 0; x < kSide; ++x)
      turned[x * kSide + (kSide - 1 - y)] = pixels[y * kSide + x];
  const auto before = transformed(TransformKind::hog, shape, pixels);
  const auto after = transformed(TransformKind::hog, shape, turned);
  for (std::size_t y = 0; y < 7; ++y)
    for (std::size_t x = 0; x < 7; ++x)
      for (std::size_t k = 0; k < 8; ++k)
        EXPECT_NEAR(after[(x * 7 + (6 - y)) * 8 + (k + 2) % 8], before[(y * 7 + x) * 8 + k], 1e-6);
}

TEST(Hog, ARampHasOneDirection) {
  const ImageShape shape{9, 9};
  for (const auto& [dy, dx, direction] :
       {std::tuple{0, 1, 0}, {1, 1, 1}, {1, 0, 2}, {1, -1, 3}, {0, -1, 4}, {-1, -1, 5}}) {
    Floats pixels;
    for (int y = 0; y < 9; ++y)
      for (int x = 0; x < 9; ++x) pixels.push_back(static_cast<float>(y * dy + x * dx));
    const auto features = transformed(TransformKind::hog, shape, pixels);
    const std::size_t middle = (3 * 7 + 3) * 8;
    for (std::size_t k = 0; k < 8; ++k)
      EXPECT_EQ(features[middle + k] > 0, k == static_cast<std::size_t>(direction)) << k;
  }
}

TEST(HogCentred, CellsHaveNoMean) {
  const auto features =
      transformed(TransformKind::hog_centred, {17, 12}, random_pixels(17 * 12, 5));
  for (std::size_t cell = 0; cell < 49; ++cell) {
    double sum = 0;
    for (std::size_t k = 0; k < 8; ++k) sum += double{features[cell * 8 + k]};
    EXPECT_NEAR(sum, 0, 1e-6) << cell;
  }
}

// A bar that stands has its edges in the direction across it, and turning it turns them.
TEST(Scattering, TellsDirectionsApart) {
  constexpr std::size_t kSide = 16, kPlaces = 16;
  const ImageShape shape{kSide, kSide};
  for (const bool stands : {true, false}) {
    Floats pixels(shape.pixels(), 0.0F);
    for (std::size_t i = 0; i < kSide; ++i)
      pixels[stands ? i * kSide + 8 : 8 * kSide + i] = i < 12 ? 1.0F : 0.0F;
    const auto features = transformed(TransformKind::scattering, shape, pixels);
    // Where the bar ends is where a channel changes: more so across it.
    const auto strongest = [&](std::size_t channel) {
      const auto places = std::span(features).subspan(channel * kPlaces, kPlaces);
      return std::ranges::max_element(places) - places.begin();
    };
    const auto place = strongest(stands ? 1 : 5);
    EXPECT_EQ(stands ? place % 4 : place / 4, 2) << place;
  }
}

// --- where images come from

std::string idx_images(std::size_t count, std::size_t height, std::size_t width) {
  std::string bytes("\0\0\x08\x03", 4);
  for (const auto extent : {count, height, width})
    bytes += std::string(3, '\0') + static_cast<char>(extent);
  for (std::size_t i = 0; i < count * height * width; ++i) bytes += static_cast<char>(i * i % 251);
  return bytes;
}

std::string idx_labels(std::size_t count) {
  std::string bytes =
      std::string("\0\0\x08\x01", 4) + std::string(3, '\0') + static_cast<char>(count);
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(i % 2);
  return bytes;
}

struct ImageFiles {
  TempDir dir;

  std::string write(const std::string& name, const std::string& content) const {
    write_file(dir / name, content);
    return (dir / name).string();
  }
  DataOptions options() const {
    return {.train_images = write("train", idx_images(6, 8, 10)),
            .train_labels = write("labels", idx_labels(6)),
            .transform = TransformKind::hog};
  }
};

std::string load_error(const DataOptions& options) {
  return what_fails([&] { load_data_from(options, {}); });
}

TEST(ImageData, IdxFilesTellTheShape) {
  const ImageFiles files;
  auto options = files.options();
  const auto pair = load_data_from(options, {});
  EXPECT_EQ(pair.train.features, 393U);  // and the column of ones
  EXPECT_EQ(pair.scaling.transform, (ImageTransform{TransformKind::hog, {8, 10}}));
  EXPECT_EQ(pair.scaling.given_features(393), 80U);
  EXPECT_TRUE(says(pair.source, "images as hog of 8x10"));
  EXPECT_EQ(pair.train.values[392], 1);
  options.image = {10, 8};
  EXPECT_TRUE(says(load_error(options), "expected images of 10x8 as data.image says, found 8x10"));
  options.image = {};
  options.test_images = files.write("test", idx_images(2, 10, 8));
  options.test_labels = files.write("test_labels", idx_labels(2));
  EXPECT_TRUE(says(load_error(options), "expected images of 8x10 as for training, found 10x8"));
  options.test_images = options.test_labels;
  EXPECT_TRUE(says(load_error(options), "expected an IDX file of images"));
}

// What is measured and appended comes after, and `apply` does the same to other rows.
TEST(ImageData, IsScaledAfterItIsTransformed) {
  const ImageFiles files;
  for (const auto scale : all_choices<FeatureScale>()) {
    auto options = files.options();
    options.scale = scale;
    const auto pair = load_data_from(options, {});
    auto raw = load_data_from(
        {.train_images = options.train_images, .train_labels = options.train_labels, .bias = false},
        {});
    pair.scaling.apply(raw.train);
    EXPECT_EQ(raw.train.values, pair.train.values) << choice_text(scale);
  }
}

TEST(ImageData, OtherFilesNeedTheShape) {
  const ImageFiles files;
  std::string rows;
  for (int row = 0; row < 4; ++row) {
    for (int i = 0; i < 63; ++i) rows += std::to_string(i * (row + 3) % 10) + ",";
    rows += std::to_string(row % 2) + "\n";
  }
  DataOptions options{.train = files.write("rows.csv", rows), .transform = TransformKind::hog};
  EXPECT_TRUE(says(load_error(options), "needs the shape of the images"));
  options.image = {7, 9};
  EXPECT_EQ(load_data_from(options, {}).train.features, 393U);
  options.image = {9, 9};
  EXPECT_TRUE(says(load_error(options), "have 81 pixels, and the records 63 features"));
  EXPECT_EQ(transform_of({.name = "mnist", .transform = TransformKind::hog}).image,
            (ImageShape{28, 28}));
  EXPECT_TRUE(
      says(what_fails([] { transform_of({.name = "a9a", .transform = TransformKind::hog}); }),
           "needs the shape of the images"));
}

// A record that does not fit stays and counts for nothing, as without a transform.
TEST(ImageData, VoidRecordsStayVoid) {
  const ImageFiles files;
  std::string rows;
  for (int i = 0; i < 49; ++i) rows += std::to_string(i % 4) + ",";
  rows += "1\nnonsense\n";
  const DataOptions options{.train = files.write("rows.csv", rows),
                            .features = 49,
                            .classes = {0, 1},
                            .transform = TransformKind::hog,
                            .image = {7, 7},
                            .guarantee = true};
  const auto train = load_data_from(options, {}).train;
  ASSERT_EQ(train.rows(), 2U);
  EXPECT_FALSE(train.is_void(0));
  EXPECT_TRUE(train.is_void(1));
  for (const float value : train.values) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace porter
