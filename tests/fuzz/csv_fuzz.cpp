// SPDX-License-Identifier: Apache-2.0
#include "data/table.hpp"
#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "whole_table.hpp"

std::vector<std::string> fuzz_seeds() {
  return {"a,b,label\n1, 2.5 ,0\r\n\n-3e1,+4,1",
          "\xEF\xBB\xBF"
          "1,2\n3,4\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::size_t features : {0, 2}) try {
      expect_whole(porter::decode_csv(bytes, "input", features, porter::BrokenRows::keep));
    } catch (const porter::Error&) {
    }
  return 0;
}
