// SPDX-License-Identifier: Apache-2.0
#include "io/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "porter/core/error.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

TEST(FileWriter, TheOldContentStaysUntilTheNewIsWhole) {
  const TempDir folder;
  const auto path = folder.path() / "x";
  write_file(path, "old");
  {
    FileWriter file(path);
    file.write("half of the ne");
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(FileWriter, WhatAKilledProcessLeavesDoesNotFillAFolder) {
  const TempDir folder;
  EXPECT_TRUE(holds_nothing(folder.path()));
  FileWriter file(folder.path() / "x");
  EXPECT_TRUE(holds_nothing(folder.path()));
  file.finish();
  EXPECT_FALSE(holds_nothing(folder.path()));
}

namespace fs = std::filesystem;

unsigned mode_of(const fs::path& path) {
  return static_cast<unsigned>(fs::status(path).permissions());
}

ino_t inode_of(const fs::path& path) {
  struct stat file {};
  EXPECT_EQ(::stat(path.c_str(), &file), 0) << path;
  return file.st_ino;
}

TEST(FileWriter, TakesThePlaceOfASpareFileAndNothingOfItsContent) {
  const TempDir folder;
  const auto path = folder / "x", spare = folder / "spare";
  write_file(path, "old");
  write_file(spare, "longer than what comes");
  const auto place = inode_of(spare);
  {
    FileWriter file(path, spare);
    file.write("new");
    EXPECT_EQ(read_file(path), "old");
    EXPECT_FALSE(fs::exists(spare));
    file.finish();
  }
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(inode_of(path), place);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(FileWriter, LeavesASpareFileThatHasAnotherNameAsItIs) {
  const TempDir folder;
  const auto path = folder / "x", spare = folder / "spare", backup = folder / "backup";
  write_file(spare, "kept by somebody");
  fs::create_hard_link(spare, backup);
  {
    FileWriter file(path, spare);
    file.write("new");
    file.finish();
  }
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(read_file(backup), "kept by somebody");
  EXPECT_FALSE(fs::exists(spare));
}

TEST(FileWriter, FollowsNoLinkInPlaceOfASpareFile) {
  const TempDir folder;
  const auto path = folder / "x", spare = folder / "spare", other = folder / "other";
  write_file(other, "somebody's");
  fs::create_symlink(other, spare);
  {
    FileWriter file(path, spare);
    file.write("new");
    file.finish();
  }
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(read_file(other), "somebody's");
}

TEST(FileWriter, InAPrivateFolderFilesAreTheirOwnersWhateverTheUmask) {
  const TempDir folder;
  const auto open_to_all = folder / "shared", closed = folder / "private";
  for (const mode_t mask : {0000U, 0022U, 0777U}) {
    const auto old = ::umask(0);
    fs::create_directory(open_to_all);
    fs::create_directory(closed);
    ::umask(mask);
    make_private_folder(closed);  // which was open to all
    write_file(closed / "x", "x");
    write_file_soon(closed / "y", "y");
    std::fputs("z", open_to_append(closed / "z").get());
    if (mask != 0777U) write_file(open_to_all / "x", "x");
    ::umask(old);
    EXPECT_EQ(mode_of(closed), 0700U);
    for (const char* name : {"x", "y", "z"}) EXPECT_EQ(mode_of(closed / name), 0600U) << name;
    if (mask != 0777U) {
      EXPECT_EQ(mode_of(open_to_all / "x"), 0644U & ~mask);
    }
    fs::remove_all(open_to_all);
    fs::remove_all(closed);
  }
}

TEST(FileWriter, FollowsNoLinkThatSomebodyPlanted) {
  const TempDir folder;
  const auto victim = folder / "victim", link = folder / "x";
  write_file(victim, "precious");
  fs::create_symlink(victim, link);
  fs::create_symlink(victim, folder / concat("y.part-", ::getpid()));
  write_file(link, "new");  // in the place of the link
  write_file(folder / "y", "new");
  EXPECT_FALSE(fs::is_symlink(link));
  EXPECT_EQ(read_file(victim), "precious");
  fs::remove(link);
  fs::create_symlink(victim, link);
  const auto refusal = [](const fs::path& path) {
    try {
      open_to_append(path);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(refusal(link).find("symbolic link"), std::string::npos) << refusal(link);
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(refusal(pipe).find("not a plain file"), std::string::npos) << refusal(pipe);
  EXPECT_EQ(read_file(victim), "precious");
}

}  // namespace
}  // namespace porter
