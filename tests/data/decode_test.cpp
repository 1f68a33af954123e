// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "data/table.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"

namespace porter {
namespace {

using Floats = std::vector<float>;

// The text of the Error{io} that `decode` throws.
std::string decode_error(const std::function<void()>& decode) {
  try {
    decode();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
    return error.what();
  }
  return "no error";
}

std::string libsvm_error(std::string_view text, std::size_t features = 0) {
  return decode_error([&] { decode_libsvm(text, "f", features); });
}

std::string csv_error(std::string_view text) {
  return decode_error([&] { decode_csv(text, "f"); });
}

TEST(Libsvm, ReadsLabelsIndicesAndValues) {
  const auto table =
      decode_libsvm("+1 1:0.5 3:-2e1 # note\n\n# only a note\r\n-1\t2:1 \r\n0.5", "f", 0);
  EXPECT_EQ(table.labels, (std::vector<double>{1, -1, 0.5}));
  EXPECT_EQ(table.lines, (std::vector<std::size_t>{1, 4, 5}));
  EXPECT_EQ(table.data.features, 3U);
  EXPECT_EQ(table.data.values, (Floats{0.5F, -20, 1}));
  EXPECT_EQ(table.data.columns, (std::vector<std::uint32_t>{0, 2, 1}));
  EXPECT_EQ(table.data.row_starts, (std::vector<std::size_t>{0, 2, 3, 3}));
  EXPECT_EQ(table.place(1), "f, line 4");
}

TEST(Libsvm, TakesTheGivenWidthAndDropsZeros) {
  const auto table = decode_libsvm("1 2:0 3:4\n", "f", 123);
  EXPECT_EQ(table.data.features, 123U);
  EXPECT_EQ(table.data.values, Floats{4});
  EXPECT_EQ(decode_libsvm("1 2:3 7:0\n", "f", 0).data.features, 7U);
}

TEST(Libsvm, NamesLineAndFindingOfEveryMistake) {
  EXPECT_EQ(libsvm_error(""), "f: the file is empty");
  EXPECT_EQ(libsvm_error("\n \n"), "f: expected lines 'label index:value ...', found none");
  EXPECT_EQ(libsvm_error("1\n"), "f: expected features 'index:value', found only labels");
  EXPECT_EQ(libsvm_error("1 1:1\nx 1:1"),
            "f, line 2: expected a finite number as the label, found 'x'");
  EXPECT_EQ(libsvm_error("1 1:1\n1 2"), "f, line 2: expected index:value, found '2'");
  EXPECT_EQ(libsvm_error("1 a:1"), "f, line 1: expected index:value, found 'a:1'");
  EXPECT_EQ(libsvm_error("1 0:1"), "f, line 1: feature indices start at 1, found 0");
  EXPECT_EQ(libsvm_error("1 3:1 3:1"), "f, line 1: feature indices must ascend, found 3 after 3");
  EXPECT_EQ(libsvm_error("1 3:1 2:1"), "f, line 1: feature indices must ascend, found 2 after 3");
  EXPECT_EQ(libsvm_error("1 9:1", 8), "f, line 1: expected feature indices of at most 8, found 9");
  EXPECT_EQ(libsvm_error("1 4294967297:1"),
            "f, line 1: expected feature indices of at most 268435456, found 4294967297");
  EXPECT_EQ(libsvm_error("1 99999999999999999999:1"),
            "f, line 1: expected index:value, found '99999999999999999999:1'");
  for (const std::string value : {"nan", "inf", "-inf", "1e39", "1.5x", "0x1", "+-1"})
    EXPECT_EQ(libsvm_error("1 2:" + value),
              "f, line 1, feature 2: expected a finite number as a feature, found '" + value + "'");
  EXPECT_EQ(libsvm_error("1 2:"),
            "f, line 1, feature 2: expected a finite number as a feature, found nothing");
  EXPECT_EQ(libsvm_error("\x01\xff"),
            "f, line 1: expected a finite number as the label, found '\\x01\\xff'");
}

TEST(Csv, ReadsWithAndWithoutHeader) {
  for (const std::string text : {"a,b,label\n1, 2.5 ,0\r\n\n-3e1,+4,1",
                                 "\xEF\xBB\xBF"
                                 "1,2.5,0\n-30,4,1\n"}) {
    const auto table = decode_csv(text, "f");
    EXPECT_EQ(table.data.features, 2U);
    EXPECT_FALSE(table.data.sparse());
    EXPECT_EQ(table.data.values, (Floats{1, 2.5F, -30, 4})) << text;
    EXPECT_EQ(table.labels, (std::vector<double>{0, 1}));
  }
  EXPECT_EQ(decode_csv("a,b\n\n1,2\n", "f").place(0), "f, line 3");
}

TEST(Csv, NamesLineAndColumnOfEveryMistake) {
  EXPECT_EQ(csv_error(""), "f: the file is empty");
  EXPECT_EQ(csv_error("a,b\n"), "f: expected rows of numbers, found none");
  EXPECT_EQ(csv_error("1\n2\n"),
            "f, line 1: expected at least one feature and the label, separated by commas, found "
            "one column");
  EXPECT_EQ(csv_error("1,2\n1,2,3\n"),
            "f, line 2: expected 2 columns as in the first line, found 3");
  EXPECT_EQ(csv_error("1,2,3\n1,2\n"),
            "f, line 2: expected 3 columns as in the first line, found 2");
  EXPECT_EQ(csv_error("1,2,3\n1,nan,2\n"),
            "f, line 2, column 2: expected a finite number as a feature, found 'nan'");
  EXPECT_EQ(csv_error("1,2\n1,\n"),
            "f, line 2, column 2: expected a finite number as the label, found nothing");
  EXPECT_EQ(csv_error("a,1\n"),
            "f, line 1, column 1: expected a finite number as a feature, found 'a'");
}

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

const std::string kImages = big_endian(2051) + big_endian(2) + big_endian(1) + big_endian(3) +
                            std::string("\0\x33\xff\1\2\3", 6);
const std::string kLabels = big_endian(2049) + big_endian(2) + std::string("\7\0", 2);

TEST(Idx, ScalesPixelsToTheUnitInterval) {
  const auto table = decode_idx(kImages, "images", kLabels, "labels");
  EXPECT_EQ(table.data.features, 3U);
  EXPECT_EQ(table.data.values, (Floats{0, 0.2F, 1, 1 / 255.0F, 2 / 255.0F, 3 / 255.0F}));
  EXPECT_EQ(table.labels, (std::vector<double>{7, 0}));
  EXPECT_EQ(table.place(1), "labels, row 1");
}

TEST(Idx, RefusesEveryTruncationAndExtension) {
  for (std::size_t size = 0; size < kImages.size(); ++size)
    EXPECT_THROW(decode_idx_images(std::string_view(kImages).substr(0, size), "f"), Error) << size;
  for (std::size_t size = 0; size < kLabels.size(); ++size)
    EXPECT_THROW(decode_idx_labels(std::string_view(kLabels).substr(0, size), "f"), Error) << size;
  EXPECT_THROW(decode_idx_images(kImages + "x", "f"), Error);
  EXPECT_THROW(decode_idx_labels(kLabels + "x", "f"), Error);
}

TEST(Idx, NamesWhatIsWrong) {
  const auto images_error = [](const std::string& bytes) {
    return decode_error([&] { decode_idx_images(bytes, "f"); });
  };
  EXPECT_EQ(images_error(""), "f: the file is empty");
  EXPECT_EQ(
      images_error(kLabels),
      "f, offset 0: expected the IDX magic number 2051 (images of unsigned bytes), found 2049");
  EXPECT_EQ(images_error(kImages + "x"),
            "f, offset 16: expected 6 bytes as the IDX header announces, found 7");
  EXPECT_EQ(images_error(big_endian(2051) + big_endian(0xFFFFFFFF) + big_endian(0xFFFFFFFF) +
                         big_endian(0xFFFFFFFF)),
            "f: truncated: the IDX header announces more than the 0 bytes that follow");
  EXPECT_EQ(images_error(big_endian(2051) + big_endian(0) + big_endian(28) + big_endian(28)),
            "f: the IDX header has an extent of 0");
  EXPECT_EQ(decode_error([] {
              decode_idx(kImages, "images", big_endian(2049) + big_endian(1) + "a", "labels");
            }),
            "labels: expected 2 labels, one for each image of images, found 1");
}

TEST(NpzTable, ReadsRowsAndLabels) {
  for (const auto& shape : std::vector<std::vector<std::size_t>>{{2}, {2, 1}}) {
    const Npz arrays = {{"X", {.shape = {2, 2}, .values = {1, 2, 3, 4}}},
                        {"y", {.shape = shape, .values = {5, 6}}}};
    const auto table = decode_npz_table(encode_npz(arrays), "f");
    EXPECT_EQ(table.data.features, 2U);
    EXPECT_EQ(table.data.values, (Floats{1, 2, 3, 4}));
    EXPECT_EQ(table.labels, (std::vector<double>{5, 6}));
    EXPECT_EQ(table.place(1), "f, row 1");
  }
}

TEST(NpzTable, NamesWhatIsWrong) {
  const auto npz_error = [](const Npz& arrays) {
    return decode_error([&] { decode_npz_table(encode_npz(arrays), "f"); });
  };
  const NpyArray x{.shape = {2, 1}, .values = {1, 2}}, y{.shape = {2}, .values = {0, 1}};
  EXPECT_EQ(npz_error({{"X", x}}), "f: no array 'y'; it holds: X");
  EXPECT_EQ(npz_error({{"X", y}, {"y", y}}), "f: expected X to be rows x features, found 2");
  EXPECT_EQ(npz_error({{"X", x}, {"y", {.shape = {1}, .values = {0}}}}),
            "f: expected y to have 2 labels, one for each row of X, found 1");
  EXPECT_EQ(npz_error({{"X", {.shape = {2, 1}, .values = {1, NAN}}}, {"y", y}}),
            "f, row 1: expected a finite number as a feature of X, found nan");
  EXPECT_EQ(npz_error({{"X", x}, {"y", {.shape = {2}, .values = {INFINITY, 0}}}}),
            "f, row 0: expected a finite number as the label in y, found inf");
  EXPECT_EQ(decode_error([] { decode_npz_table("", "f"); }), "f: the file is empty");
}

}  // namespace
}  // namespace porter
