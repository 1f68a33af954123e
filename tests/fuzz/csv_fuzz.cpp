// SPDX-License-Identifier: Apache-2.0
#include "data/table.hpp"
#include "fuzz.hpp"
#include "porter/core/error.hpp"

std::vector<std::string> fuzz_seeds() {
  return {"a,b,label\n1, 2.5 ,0\r\n\n-3e1,+4,1",
          "\xEF\xBB\xBF"
          "1,2\n3,4\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    porter::decode_csv({reinterpret_cast<const char*>(data), size}, "input");
  } catch (const porter::Error&) {
  }
  return 0;
}
