// SPDX-License-Identifier: Apache-2.0
// The demo alone. It needs a part of the library only, so it is there in half the time.
#include "program.hpp"

int main(int argc, char** argv) {
  return porter::cli::run_program(argc, argv, {porter::cli::add_demo_command});
}
