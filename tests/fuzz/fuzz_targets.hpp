// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// A target of libFuzzer as one of several in a program; CMakeLists.txt writes the table.
struct FuzzTarget {
  std::string name;
  int (*try_one)(const std::uint8_t* data, std::size_t size);
  std::vector<std::string> (*seeds)();
};

std::vector<FuzzTarget> fuzz_targets();
