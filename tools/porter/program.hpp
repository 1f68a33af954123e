// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "commands.hpp"

namespace porter::cli {

using AddCommand = void (*)(App&);

/// The body of main: runs the command that the arguments name and returns the exit code. What is
/// thrown is printed.
int run_program(int argc, char** argv, std::initializer_list<AddCommand> commands);

}  // namespace porter::cli
