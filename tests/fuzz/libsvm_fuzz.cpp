// SPDX-License-Identifier: Apache-2.0
#include "data/table.hpp"
#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "whole_table.hpp"

std::vector<std::string> fuzz_seeds() {
  return {"-1 3:1 11:1 14:1\n+1 1:0.5 2:-2e-3 # note\r\n", "0\n1 4:1\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::size_t features : {0, 123}) try {
      porter::decode_libsvm(bytes, "input", features);
      expect_whole(porter::decode_libsvm(bytes, "input", features, porter::BrokenRows::keep));
    } catch (const porter::Error&) {
    }
  return 0;
}
