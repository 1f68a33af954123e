// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"

std::vector<std::string> fuzz_seeds() {
  const porter::NpyArray array{.shape = {2, 2}, .values = {1, 2, 3, 4}};
  return {porter::encode_npz({{"x", array}, {"y", array}}),
          porter::encode_npy(array.shape, array.values)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    porter::decode_npz(bytes, "input");
  } catch (const porter::Error&) {
  }
  try {
    porter::decode_npy(bytes, "input");
  } catch (const porter::Error&) {
  }
  return 0;
}
