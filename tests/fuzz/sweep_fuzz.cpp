// SPDX-License-Identifier: Apache-2.0
// The values of a sweep, as people write them.
#include "fuzz.hpp"
#include "grid/sweep_values.hpp"
#include "porter/core/error.hpp"

std::vector<std::string> fuzz_seeds() {
  return {"0.01,\"a,b\",[1, 2]", "log:0.01..1:5", "intlin:-3..1e3:7", "lin:-1e308..1e308:3"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const porter::SweepValues values("section.key", text);
    porter::RngStream rng(1, porter::Draw::test, 0, 0);
    values.draw(rng);
    values.all();
  } catch (const porter::Error&) {
  }
  return 0;
}
