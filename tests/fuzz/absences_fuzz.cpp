// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"
#include "graph/absence_trace.hpp"
#include "porter/core/error.hpp"

std::vector<std::string> fuzz_seeds() {
  return {"agent,from,to\n0,1,5\n2,3,3\r\n\n", "agent,from,to\n1,5,4\n", "0,1,2\n",
          "agent,from,to\n0,1,99999999999\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const auto& [agent, from, to] : porter::decode_absences(text, "input", 3))
      if (agent >= 3 || from < 1 || from > to) __builtin_trap();
  } catch (const porter::Error&) {
  }
  return 0;
}
