// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <string>

#include "command.hpp"
#include "temp_dir.hpp"

namespace porter {

/// A folder of its own to call the command in.
class CommandTest : public testing::Test {
 protected:
  CommandResult porter(const std::string& arguments) {
    return run_command("cd " + dir_.path().string() + " && " + binary_dir() + "/porter " +
                       arguments);
  }

  struct Refused {
    const char* arguments;
    const char* expected;  ///< in what is printed
  };
  /// Wrong usage: exit code 2, the reason, and no folder `out`.
  void expect_refused(const std::string& command, std::initializer_list<Refused> cases) {
    for (const auto& [arguments, expected] : cases) {
      const auto result = porter(command + arguments);
      EXPECT_EQ(result.exit_code, 2) << arguments << "\n" << result.output;
      EXPECT_NE(result.output.find(expected), std::string::npos) << arguments << "\n"
                                                                 << result.output;
      EXPECT_FALSE(std::filesystem::exists(dir_ / "out")) << arguments;
    }
  }

  TempDir dir_;
};

}  // namespace porter
