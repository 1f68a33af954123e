// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"
#include "graph/topologies.hpp"
#include "porter/core/error.hpp"

std::vector<std::string> fuzz_seeds() {
  return {"0 1\n1 2\n2 3\n", "# ring\n0 1\r\n1 2\n\n2 0 # back\n", "0 99999999999999999999\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::size_t nodes : {1, 8}) try {
      porter::Graph(nodes, porter::decode_edges(text, "input", nodes));
    } catch (const porter::Error&) {
    }
  try {
    porter::decode_arcs(text, "input", 8);
  } catch (const porter::Error&) {
  }
  return 0;
}
