// SPDX-License-Identifier: Apache-2.0
#include "porter/io/file.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace porter
