// SPDX-License-Identifier: Apache-2.0
// Runs a libFuzzer target without libFuzzer: random inputs and mutations of the target's own seeds,
// for a few seconds. Deterministic; the sanitizer builds turn any bad access into a failure.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include "porter/core/rng.hpp"

namespace {

std::string mutate(std::string input, porter::RngStream& rng) {
  const auto edits = 1 + rng.below(4);
  for (std::uint64_t i = 0; i < edits; ++i) {
    const auto at = rng.below(input.size() + 1);
    const auto byte = static_cast<char>(rng.next_u32());
    switch (rng.below(6)) {
      case 0:
        input.insert(input.begin() + static_cast<long>(at), byte);
        break;
      case 1:
        input.resize(at);
        break;
      case 2:
        input += input.substr(at);
        break;
      case 3:
        input.erase(at, rng.below(8));
        break;
      default:
        if (at < input.size()) input[at] = byte;
    }
  }
  return input;
}

}  // namespace

int main() {
  const char* limit = std::getenv("PORTER_FUZZ_SECONDS");
  const auto seconds = std::chrono::duration<double>(limit ? std::atof(limit) : 2.0);
  const auto seeds = fuzz_seeds();
  const auto start = std::chrono::steady_clock::now();
  std::uint32_t round = 0;
  const auto try_input = [](const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  };
  for (const auto& seed : seeds) try_input(seed);
  for (; std::chrono::steady_clock::now() - start < seconds; ++round) {
    porter::RngStream rng(1, porter::Draw::test, 0, round);
    std::string input = seeds.empty() ? std::string() : seeds[rng.below(seeds.size())];
    if (seeds.empty() || rng.below(8) == 0) {
      input.resize(rng.below(64));
      for (auto& byte : input) byte = static_cast<char>(rng.next_u32());
    }
    try_input(mutate(std::move(input), rng));
  }
  std::printf("%u inputs\n", round);
  return 0;
}
