// SPDX-License-Identifier: Apache-2.0
#include "data/table_cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "data/sources.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// Text that is large enough to be cached.
std::string libsvm_text(int value) {
  std::string text;
  for (int row = 0; row < 6000; ++row)
    text += (row % 2 == 0 ? "-1 1:" : "+1 2:") + std::to_string(value) + " 5:0.25 7:1\n";
  return text;
}

struct Fixture {
  TempDir dir;
  std::string source = (dir / "data.libsvm").string();
  fs::path cache = dir / "cache";

  Fixture() { write_file(source, libsvm_text(3)); }
  DataPair load() const {
    return load_data_from({.train = source, .bias = false}, {.given = {}, .cache = cache});
  }
  fs::path file() const { return fs::directory_iterator(cache / "parsed")->path(); }
};

void expect_same(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.features, b.features);
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.row_starts, b.row_starts);
  EXPECT_EQ(a.labels, b.labels);
}

TEST(TableCache, GivesBackWhatWasParsed) {
  const Fixture f;
  const auto parsed = f.load();
  ASSERT_TRUE(fs::exists(f.cache / "parsed"));
  const auto before = fs::last_write_time(f.file());
  const auto cached = f.load();
  expect_same(cached.train, parsed.train);
  EXPECT_EQ(cached.source, parsed.source);
  EXPECT_EQ(fs::last_write_time(f.file()), before);  // it was used, not made anew
}

TEST(TableCache, RoundTripsEveryKindOfTable) {
  for (const bool sparse : {false, true})
    for (const std::size_t different : {3, 300}) {
      SCOPED_TRACE(testing::Message() << sparse << ' ' << different);
      FileTable table;
      table.data.features = 10;
      table.labels = {1, -0.5, 7};
      if (sparse) table.data.row_starts = {0};
      for (std::size_t row = 0; row < 3; ++row) {
        for (std::uint32_t j = 0; j < 10; ++j) {
          if (sparse && (row + j) % 3 == 0) continue;
          table.data.values.push_back(static_cast<float>((row * 100 + j * 7) % different));
          if (sparse) table.data.columns.push_back(j);
        }
        if (sparse) table.data.row_starts.push_back(table.data.values.size());
        if (sparse) table.lines.push_back(row + 5);
      }
      const auto bytes = encode_table(table, "key\n");
      const auto back = decode_table(bytes, "key\n");
      ASSERT_TRUE(back.has_value());
      expect_same(back->data, table.data);
      EXPECT_EQ(back->labels, table.labels);
      EXPECT_EQ(back->lines, table.lines);
      EXPECT_FALSE(decode_table(bytes, "other\n").has_value());
    }
}

// Same size, same date: only the content tells.
TEST(TableCache, NeverServesAChangedSource) {
  const Fixture f;
  f.load();
  const auto date = fs::last_write_time(f.source);
  write_file(f.source, libsvm_text(4));
  fs::last_write_time(f.source, date);
  const auto changed = f.load();
  EXPECT_EQ(changed.train.values[0], 4.0F);
  EXPECT_EQ(changed.source, "file " + f.source);  // an older source is no damage
  EXPECT_EQ(f.load().train.values[0], 4.0F);
}

TEST(TableCache, RebuildsADamagedFileAndSaysSo) {
  const Fixture f;
  const auto parsed = f.load();
  const auto whole = read_raw_file(f.file());
  for (const std::size_t cut :
       {std::size_t{0}, std::size_t{9}, whole.size() / 2, whole.size() - 1}) {
    SCOPED_TRACE(cut);
    const auto path = f.file();
    write_file(path, whole.substr(0, cut));
    const auto again = f.load();
    expect_same(again.train, parsed.train);
    EXPECT_NE(again.source.find("was damaged and is made anew"), std::string::npos);
    EXPECT_EQ(read_raw_file(f.file()), whole);
  }
  for (std::size_t at = 90; at < whole.size(); at += whole.size() / 50) {
    auto flipped = whole;
    flipped[at] ^= 4;
    EXPECT_FALSE(decode_table(flipped, whole.substr(15, whole.find('\n', 17) - 14)).has_value());
  }
  EXPECT_EQ(f.load().source, parsed.source);
}

TEST(TableCache, WorksWithoutAWritableFolder) {
  Fixture f;
  write_file(f.dir / "blocked", "a file where the folder should be");
  f.cache = f.dir / "blocked";
  EXPECT_EQ(f.load().train.rows(), 6000U);
  EXPECT_EQ(f.load().train.rows(), 6000U);
}

TEST(TableCache, PassesOverSmallFilesAndErrorsOfTheSource) {
  const Fixture f;
  write_file(f.source, "-1 1:1\n+1 2:1\n");
  EXPECT_EQ(f.load().train.rows(), 2U);
  EXPECT_FALSE(fs::exists(f.cache));
  write_file(f.source, libsvm_text(3) + "nonsense\n");
  EXPECT_THROW(f.load(), Error);
  EXPECT_THROW(f.load(), Error);
}

TEST(TableCache, ManyReadersAtOnceAllGetTheTable) {
  const Fixture f;
  std::vector<std::size_t> rows(8);
  std::vector<std::thread> threads;
  for (auto& count : rows) threads.emplace_back([&] { count = f.load().train.rows(); });
  for (auto& thread : threads) thread.join();
  for (const auto count : rows) EXPECT_EQ(count, 6000U);
  EXPECT_EQ(f.load().train.rows(), 6000U);
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  lstat(path.c_str(), &status);
  return status.st_mode & 0777;
}

TEST(TableCache, IsForItsUserAlone) {
  const Fixture f;
  fs::create_directories(f.cache / "parsed");
  fs::permissions(f.cache / "parsed", fs::perms(0755));  // as an older version left it
  const auto before = umask(0);
  f.load();
  umask(before);
  EXPECT_EQ(mode_of(f.cache / "parsed"), 0700U);
  EXPECT_EQ(mode_of(f.file()), 0600U);
}

TEST(TableCache, FollowsNoLinks) {
  const Fixture f;
  f.load();
  const auto path = f.file();
  const auto elsewhere = f.dir / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  const auto bytes = read_raw_file(elsewhere);
  EXPECT_EQ(f.load().train.rows(), 6000U);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path)));  // replaced, not written through
  EXPECT_EQ(read_raw_file(elsewhere), bytes);

  fs::remove_all(f.cache / "parsed");
  fs::create_directories(f.dir / "other");
  fs::create_directory_symlink(f.dir / "other", f.cache / "parsed");
  EXPECT_EQ(f.load().train.rows(), 6000U);
  EXPECT_TRUE(fs::is_empty(f.dir / "other"));
}

TEST(TableCache, HoldsNothingThatAGuaranteeIsGivenForAndForgetsWhatItHeld) {
  const Fixture f;
  const DataFolders folders{.given = {}, .cache = f.cache};
  const DataOptions own{.train = f.source, .features = 7, .cache = false};
  const DataOptions promised{
      .train = f.source, .features = 7, .classes = {-1, 1}, .guarantee = true};
  for (const auto& options : {own, promised}) {
    load_data_from(options, folders);
    EXPECT_FALSE(fs::exists(f.cache));
    // Before the guarantee was asked for, the width need not have been stated.
    for (const std::size_t features : {7, 0})
      load_data_from({.train = f.source, .features = features}, folders);
    EXPECT_EQ(std::distance(fs::directory_iterator(f.cache / "parsed"), {}), 2);
    load_data_from(options, folders);
    EXPECT_TRUE(fs::is_empty(f.cache / "parsed"));
    fs::remove_all(f.cache);
  }
}

}  // namespace
}  // namespace porter
