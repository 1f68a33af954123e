// SPDX-License-Identifier: Apache-2.0
#include "io/append_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "io/file.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;
using Sync = AppendFile::Sync;

std::string error_of(const std::function<void()>& action, ErrorKind kind) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

class AppendFileTest : public testing::Test {
 protected:
  TempDir dir_;
  fs::path path_ = dir_ / "log";
};

TEST_F(AppendFileTest, GrowsBehindWhatIsThere) {
  for (const auto sync : {Sync::process, Sync::disk}) {
    fs::remove(path_);
    AppendFile(path_, {.sync = sync}).append("one\n");
    AppendFile file(path_, {.sync = sync});
    file.append("two\n");
    fs::resize_file(path_, 4);  // somebody else
    file.append("three\n");
    EXPECT_EQ(file.read(), "one\nthree\n");
    file.truncate(4);
    EXPECT_EQ(read_file(path_), "one\n");
  }
}

TEST_F(AppendFileTest, HalfALineIsCutOffAndATailStaysUntilItIsReplaced) {
  write_file(path_, "one\ntwo");
  AppendFile file(path_, {});
  EXPECT_EQ(file.read_lines(), "one\n");
  EXPECT_EQ(read_file(path_), "one\n");
  file.append("to");
  file.replace_tail(4, "torn\n");
  EXPECT_EQ(file.read(), "one\ntorn\n");
  write_file(dir_ / "half", "no end");
  EXPECT_EQ(AppendFile(dir_ / "half", {}).read_lines(), "");
}

TEST_F(AppendFileTest, WhoComesSecondIsToldWhatTheFileIsFor) {
  const AppendFile::Options locked{.error = ErrorKind::privacy, .in_use = "another one works here"};
  {
    const AppendFile first(path_, locked);
    const auto told = error_of([&] { AppendFile(path_, locked); }, ErrorKind::privacy);
    EXPECT_NE(told.find(path_.string() + ": another one works here"), told.npos) << told;
    // Some filesystems number their devices otherwise in /proc/locks; then no process is named.
    if (told.find("(process ") != told.npos) {
      EXPECT_NE(told.find(concat("(process ", ::getpid(), ")")), told.npos) << told;
    }
    AppendFile(path_, {}).append("who does not ask for the lock does not get it\n");
  }
  const AppendFile next(path_, locked);
}

TEST_F(AppendFileTest, ANewFileHasItsFirstBytesAndIsNeverWrittenOver) {
  const auto old = ::umask(0);
  auto file = AppendFile::create(path_, "first", {.sync = Sync::disk});
  ::umask(old);
  file.append(" more");
  EXPECT_EQ(read_file(path_), "first more");
  EXPECT_EQ(static_cast<unsigned>(fs::status(path_).permissions()), 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), {}), 1) << "no temporary file left";
  const auto told = error_of([&] { AppendFile::create(path_, "x", {}); }, ErrorKind::io);
  EXPECT_NE(told.find("there already"), told.npos) << told;
  EXPECT_EQ(read_file(path_), "first more");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), {}), 1);
}

TEST_F(AppendFileTest, OpensNeitherLinksNorWhatIsNotThereUnasked) {
  const auto missing = error_of([&] { AppendFile::open_existing(path_, {}); }, ErrorKind::io);
  EXPECT_NE(missing.find(path_.string() + ": cannot open it"), missing.npos) << missing;
  EXPECT_FALSE(fs::exists(path_));
  write_file(dir_ / "victim", "precious");
  fs::create_symlink(dir_ / "victim", path_);
  const auto link = error_of([&] { AppendFile(path_, {}); }, ErrorKind::io);
  EXPECT_NE(link.find("symbolic link"), link.npos) << link;
}

TEST_F(AppendFileTest, NoticesThatItIsNoLongerTheFileAtItsPath) {
  AppendFile file(path_, {});
  file.append("12345");
  file.require_untouched(5);
  const auto told = [&](std::size_t size) {
    return error_of([&] { file.require_untouched(size); }, ErrorKind::io);
  };
  EXPECT_NE(told(4).find("changed by someone else"), std::string::npos) << told(4);
  fs::rename(path_, dir_ / "aside");
  EXPECT_NE(told(5).find("renamed or replaced"), std::string::npos) << told(5);
  write_file(path_, "12345");
  EXPECT_NE(told(5).find("renamed or replaced"), std::string::npos) << told(5);
}

}  // namespace
}  // namespace porter
