// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "report/trace.hpp"

std::vector<std::string> fuzz_seeds() {
  return {"round,loss,test_accuracy\n0,0.7,\n1,inf,nan\n20,-1.5e-300,0.5\n",
          "round\r\n0\r\n1000000\r\n", "loss,round\n,3\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    porter::parse_metrics({reinterpret_cast<const char*>(data), size}, "input");
  } catch (const porter::Error&) {
  }
  return 0;
}
