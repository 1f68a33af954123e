// SPDX-License-Identifier: Apache-2.0
// The summary of a run and the status of an agent, as a report reads them: refused by name, or
// facts without control characters.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "fuzz.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "report/agent_state.hpp"
#include "report/trace.hpp"
#include "temp_dir.hpp"
#include "train/run_folder.hpp"

std::vector<std::string> fuzz_seeds() {
  return {
      R"({"name": "a", "status": "finished", "epsilon": [0.5, 1.25], "rounds": 20, "ok": true})",
      R"({"privacy": "simulated noise: not private", "epsilon": null, "data": {"rows": [1, 2]}})",
      R"({"privacy": {"statement": "s", "guarantee": {"epsilon": 1.5, "delta": 0.1},)"
      R"("noise": "secure", "level": "record", "sigma": 2.0, "clip": "smooth:1",)"
      R"("clip_target": "sample", "batch": 1, "m": 9, "rounds": 3, "releases": 3, "delta": 0.1,)"
      R"("sampler": "fixed", "epsilon": [0.5, 1.5], "not_covered": [], "warnings": ["w"]}})",
      R"({"name": "b", "state": "training", "round": 2, "rounds": 9, "waiting_for": ["a"]})",
      R"({"epsilon": [null, 1e308], "a": "\u0007\ud83d\ude00", "b": -0.0})"};
}

namespace {

bool has_controls(const std::string& text) {
  return std::ranges::any_of(text, [](char c) { return c >= 0 && c < ' '; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const porter::TempDir folder;
  static const bool ready = [] {
    porter::write_file(folder / "metrics.csv", "round,loss\n0,1\n");
    return true;
  }();
  if (!ready) std::abort();
  for (const char* file : {"summary.json", "status.json"})
    std::ofstream(folder / file, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  if (const auto state = porter::load_agent_state(folder.path()))
    if (has_controls(state->text() + state->name + state->waiting_for)) std::abort();
  try {
    const auto trace = porter::load_trace(folder.path());
    for (const auto& [key, text] : trace.facts)
      if (has_controls(text)) std::abort();
    const auto& privacy = trace.privacy;
    if (privacy.guaranteed && !(privacy.noise == porter::NoiseSource::secret && privacy.delta &&
                                std::isfinite(privacy.epsilon.value().upper)))
      std::abort();
  } catch (const porter::Error&) {
  }
  try {
    porter::RunFolder::recorded_status(folder.path());
  } catch (const porter::Error&) {
  }
  return 0;
}
