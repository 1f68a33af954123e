// SPDX-License-Identifier: Apache-2.0
#include "data/table.hpp"
#include "fuzz.hpp"
#include "porter/core/error.hpp"

std::vector<std::string> fuzz_seeds() {
  return {std::string("\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\1\0\xff", 18),
          std::string("\0\0\x08\x01\0\0\0\2\3\5", 10)};
}

// The input as images (with labels that fit two of them), and as labels.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    porter::decode_idx(bytes, "images", fuzz_seeds()[1], "labels");
  } catch (const porter::Error&) {
  }
  try {
    porter::decode_idx_labels(bytes, "labels");
  } catch (const porter::Error&) {
  }
  return 0;
}
