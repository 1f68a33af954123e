// SPDX-License-Identifier: Apache-2.0
#include "io/input_stream.hpp"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <memory>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

std::string long_text() {
  std::string text;
  for (std::uint64_t i = 0; text.size() < 3'000'000; ++i) text += std::to_string(i * 7919) + ",";
  return text;
}

std::string gzipped(const std::string& text) {
  z_stream state{};
  deflateInit2(&state, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&state, text.size()) + 64, '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  deflate(&state, Z_FINISH);
  packed.resize(state.total_out);
  deflateEnd(&state);
  return packed;
}

// With a checksum, as the program zstd writes it.
std::string zstandard(const std::string& text) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> state(ZSTD_createCCtx(),
                                                                      ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(state.get(), ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(
      ZSTD_compress2(state.get(), packed.data(), packed.size(), text.data(), text.size()));
  return packed;
}

class InputStreamTest : public ::testing::Test {
 protected:
  std::string file(const std::string& bytes) {
    const auto path = folder.path() / "f";
    write_file(path, bytes);
    return path.string();
  }
  std::string error_of(const std::string& bytes) {
    try {
      read_file(file(bytes));
      return "none";
    } catch (const Error& error) {
      return error.what();
    }
  }
  TempDir folder;
};

TEST_F(InputStreamTest, UnpacksByTheFirstBytes) {
  const auto text = long_text();
  for (const auto& bytes : {text, gzipped(text), zstandard(text)})
    EXPECT_EQ(read_file(file(bytes)), text);
  for (const std::string small : {"", "a", "\x1f", "abc"}) EXPECT_EQ(read_file(file(small)), small);
}

TEST_F(InputStreamTest, PackedFilesMayHaveSeveralParts) {
  EXPECT_EQ(read_file(file(gzipped("one,") + gzipped("two"))), "one,two");
  EXPECT_EQ(read_file(file(gzipped("one") + std::string(512, '\0'))), "one");
  EXPECT_EQ(read_file(file(zstandard("one,") + zstandard("two"))), "one,two");
  EXPECT_EQ(read_file(file(gzipped(""))), "");
}

TEST_F(InputStreamTest, TellsHowMuchHasBeenRead) {
  InputStream stream(file(gzipped(long_text())));
  std::string buffer(1'000'000, '\0');
  double before = 0;
  while (stream.read(buffer) > 0) {
    ASSERT_TRUE(stream.share().has_value());
    EXPECT_GE(*stream.share(), before);
    before = *stream.share();
  }
  EXPECT_EQ(before, 1);
}

TEST_F(InputStreamTest, SaysWhatIsTruncatedOrDamaged) {
  const auto text = long_text();
  for (const auto& [packed, name] : {std::pair(gzipped(text), "gzip"), {zstandard(text), "zstd"}}) {
    for (const std::size_t size : {packed.size() - 1, packed.size() / 2, std::size_t{20}})
      EXPECT_NE(error_of(packed.substr(0, size)).find(name), std::string::npos) << name << size;
    auto damaged = packed;
    for (std::size_t i = 1000; i < 1100; ++i) damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    EXPECT_NE(error_of(damaged).find("truncated or damaged"), std::string::npos) << name;
  }
  EXPECT_NE(error_of(gzipped("one") + "more").find("other bytes follow"), std::string::npos);
}

TEST_F(InputStreamTest, NamesWhatCannotBeOpened) {
  const auto missing = (folder.path() / "missing").string();
  EXPECT_THROW(InputStream{missing}, Error);
  try {
    InputStream{folder.path().string()};
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("it is a folder"), std::string::npos);
  }
}

}  // namespace
}  // namespace porter
