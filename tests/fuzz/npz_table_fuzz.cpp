// SPDX-License-Identifier: Apache-2.0
#include "data/table.hpp"
#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "whole_table.hpp"

std::vector<std::string> fuzz_seeds() {
  const porter::NpyArray X{.shape = {2, 2}, .values = {1, 2, 3, 4}};
  return {porter::encode_npz({{"X", X}, {"y", {.shape = {2}, .values = {0, 1}}}}),
          porter::encode_npz({{"X", X}, {"y", {.shape = {2, 3}, .values = {0, 1, 2, 3, 4, 5}}}})};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto broken : {porter::BrokenRows::refuse, porter::BrokenRows::keep}) try {
      const std::string_view bytes(reinterpret_cast<const char*>(data), size);
      expect_whole(porter::decode_npz_table(bytes, "input", broken));
    } catch (const porter::Error&) {
    }
  return 0;
}
