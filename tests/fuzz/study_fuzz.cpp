// SPDX-License-Identifier: Apache-2.0
// An experiment file, and a line of the journal of its runs, as a crash may leave it.
#include "fuzz.hpp"
#include "grid/grid_journal.hpp"
#include "porter/core/error.hpp"
#include "reproduce/study.hpp"

std::vector<std::string> fuzz_seeds() {
  porter::GridRun run{.seed = 3, .status = porter::RunEnd::finished};
  run.rows.resize(2);
  run.facts = porter::GridFacts{.data = "d"};
  return {porter::journal_line("key", run),
          "title = \"t\"\nkind = \"curves\"\nquick = { rounds = 3, keep = 1 }\n[config]\n"
          "algorithm = { rounds = 2 }\n[curves]\nmetrics = [\"loss\"]\n[[series]]\nlabel = \"a\"\n"
          "set = { \"algorithm.step\" = 0.1 }\n",
          "title = \"t\"\nkind = \"bars\"\n[config]\n[fallback]\n\"data.name\" = \"synthetic\"\n"
          "[bars]\nvary = \"network.graph\"\nvalues = [\"ring\", \"star\"]\nmetrics = [\"loss\"]\n"
          "[[series]]\nlabel = \"a\"\nwith = [{}, {}]\nreference = [{ loss = 1 }, {}]\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  porter::parse_journal_line(text);
  for (const bool quick : {false, true}) try {
      porter::parse_study(text, "name", "name.toml", "", {.quick = quick});
    } catch (const porter::Error&) {
    }
  return 0;
}
