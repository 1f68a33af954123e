// SPDX-License-Identifier: Apache-2.0
// The values of a sweep, as people write them, and a line of its journal, as a crash may leave it.
#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "porter/run/sweep_values.hpp"
#include "run/sweep_journal.hpp"

std::vector<std::string> fuzz_seeds() {
  return {"0.01,\"a,b\",[1, 2]",
          "log:0.01..1:5",
          "intlin:-3..1e3:7",
          "lin:-1e308..1e308:3",
          "3,18,finished,40,0.5,1e-3,0.2,0.9,0.9,0.3,0.5,0.6,0.9,0.8,1e-4,,320,640,1.5,",
          "0,1,failed,,,,,,,,,,,,,,,,,no such file"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  porter::parse_journal_line(text);
  try {
    const porter::SweepValues values("section.key", text);
    porter::RngStream rng(1, porter::Draw::test, 0, 0);
    values.draw(rng);
    values.all();
  } catch (const porter::Error&) {
  }
  return 0;
}
