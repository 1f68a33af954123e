// SPDX-License-Identifier: Apache-2.0
// A config, and the same text as what --set gives: refused, or one that reads back as itself.
#include <cstdlib>

#include "fuzz.hpp"
#include "porter/config/config.hpp"
#include "porter/core/error.hpp"

std::vector<std::string> fuzz_seeds() {
  return {porter::to_toml(porter::parse_config("", "seed.toml")),
          porter::to_toml(porter::parse_config(
              "[algorithm]\nname = \"porter-dp\"\n[privacy]\nnoise = \"secure\"\n"
              "[model]\nname = \"mlp\"\nhidden = [8, 4]\nactivation = \"tempered:1.58:3:0.71\"\n",
              "seed.toml")),
          porter::to_toml(
              porter::parse_config("[model]\nname = \"layers\"\nlayers = [\"conv:4x3/2+1\", "
                                   "\"groupnorm:2\", \"tanh\", \"avgpool:2\"]\n",
                                   "seed.toml")),
          porter::to_toml(porter::parse_config(
              "[data]\nsplit = \"sizes:2,1\"\nweigh = \"agents\"\n[network]\nagents = 2\n"
              "[algorithm]\nrounds = 10\n[privacy]\nbudgets = [2, 0.5]\n"
              "phases = \"5x1,5x0.5x2\"\n",
              "seed.toml")),
          "[data]\nscale = \"standard\"\nmoments = [0.1307, 0.3081]\n",
          "algorithm.rounds=7",
          "data.split=\"by-label:2\""};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const auto config = porter::parse_config(text, "input.toml");
    const auto written = porter::to_toml(config);
    if (porter::to_toml(porter::parse_config(written, "again.toml")) != written) std::abort();
  } catch (const porter::Error&) {
  }
  try {
    porter::parse_config("[model]\nname = \"mlp\"\n", "input.toml", {text});
  } catch (const porter::Error&) {
  }
  return 0;
}
