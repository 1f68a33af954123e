// SPDX-License-Identifier: Apache-2.0
// Every rank runs the same tests in the same order.
#include <gtest/gtest.h>

#include <cstdio>

#include "mpi_session.hpp"

int main(int argc, char** argv) {
  const auto session = porter::make_mpi_session(
      {.report = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }});
  porter::mpi_session = session.get();
  testing::InitGoogleTest(&argc, argv);  // asks how many processes there are
  return RUN_ALL_TESTS();
}
