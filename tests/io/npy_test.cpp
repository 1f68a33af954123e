// SPDX-License-Identifier: Apache-2.0
#include "porter/io/npy.hpp"

#include <gtest/gtest.h>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

const NpyArray kMatrix{.shape = {2, 3}, .values = {1, -2.5, 3, 4e300, 5, 6}};

TEST(Npy, RoundTripsShapesAndValues) {
  for (const auto& shape :
       std::vector<std::vector<std::size_t>>{{}, {6}, {2, 3}, {1, 2, 3}, {0, 4}}) {
    std::size_t count = 1;
    for (const auto extent : shape) count *= extent;
    const std::vector<double> values(kMatrix.values.begin(), kMatrix.values.begin() + long(count));
    const auto back = decode_npy(encode_npy(shape, values), "memory");
    EXPECT_EQ(back.shape, shape);
    EXPECT_EQ(back.values, values);
  }
}

TEST(Npy, RefusesEveryTruncation) {
  const auto bytes = encode_npy(kMatrix.shape, kMatrix.values);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(decode_npy(std::string_view(bytes).substr(0, size), "memory"), Error) << size;
}

TEST(Npy, ReadsFortranOrder) {
  auto bytes = encode_npy(kMatrix.shape, kMatrix.values);
  bytes.replace(bytes.find("False"), 5, "True ");
  const auto back = decode_npy(bytes, "memory");
  EXPECT_EQ(back.values, (std::vector<double>{1, 3, 5, -2.5, 4e300, 6}));
}

TEST(Npz, RoundTripsAndIsReproducible) {
  const Npz arrays = {{"x_mean", kMatrix}, {"X", {.shape = {1}, .values = {7}}}};
  const auto bytes = encode_npz(arrays);
  EXPECT_EQ(bytes, encode_npz(arrays));
  const auto back = decode_npz(bytes, "memory");
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back.at("x_mean").values, kMatrix.values);
  EXPECT_EQ(back.at("X").shape, (std::vector<std::size_t>{1}));
}

TEST(Npz, PartsAreWrittenAsTheWhole) {
  const std::span<const double> values = kMatrix.values;
  const NpzParts parts = {{"x", {{2, 3}, {values.first(1), {}, values.subspan(1)}}}};
  EXPECT_EQ(encode_npz(parts), encode_npz({{"x", kMatrix}}));
  const TempDir folder;
  save_npz(folder.path() / "x.npz", parts);
  EXPECT_EQ(read_file(folder.path() / "x.npz"), encode_npz(parts));
}

TEST(Npz, RefusesTruncationAndAlteredMembers) {
  const auto bytes = encode_npz({{"x", kMatrix}});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(decode_npz(std::string_view(bytes).substr(0, size), "memory"), Error) << size;
  auto altered = bytes;
  altered[150] ^= 1;  // inside the array
  EXPECT_THROW(decode_npz(altered, "memory"), Error);
}

// A directory of many entries over one body would unpack to any size.
TEST(Npz, RefusesMembersThatShareTheirBytes) {
  const Npz one = {{"a", {{1000}, std::vector<double>(1000, 1.5)}}};
  const auto bytes = encode_npz(one);
  const auto directory_at = bytes.rfind(std::string("PK\x01\x02", 4));
  const auto end_at = bytes.rfind(std::string("PK\x05\x06", 4));
  const auto entry = bytes.substr(directory_at, end_at - directory_at);
  for (const bool same_name : {true, false}) {
    std::string many = bytes.substr(0, directory_at), end = bytes.substr(end_at);
    const int members = same_name ? 5000 : 26;
    for (int i = 0; i < members; ++i) {
      auto copy = entry;
      if (!same_name) copy[copy.size() - 5] = static_cast<char>('a' + i);
      many += copy;
    }
    end[10] = static_cast<char>(members & 0xFF);
    end[11] = static_cast<char>(members >> 8);
    try {
      decode_npz(many + end, "memory");
      ADD_FAILURE() << "unpacked";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(same_name ? "is there twice" : "shares its bytes"), text.npos) << text;
    }
  }
}

TEST(Npz, NamesTheMembersWhenOneIsMissing) {
  const Npz arrays = {{"a", kMatrix}, {"b", kMatrix}};
  try {
    member(arrays, "c", "model.npz");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "model.npz: no array 'c'; it holds: a, b");
  }
}

TEST(File, WritesWholeFilesOrNothing) {
  const TempDir dir;
  write_file(dir / "a.txt", "first");
  write_file(dir / "a.txt", "second");
  EXPECT_EQ(read_file(dir / "a.txt"), "second");
  EXPECT_THROW(write_file(dir / "missing" / "a.txt", "x"), Error);
  EXPECT_THROW(write_file("/dev/full/x", "x"), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(File, NamesTheFileItCannotRead) {
  try {
    read_file("no/such/file");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(std::string(error.what()).find("no/such/file"), std::string::npos);
  }
}

TEST(Sha256, MatchesThePublishedExamples) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace porter
