// SPDX-License-Identifier: Apache-2.0
// The round and its parts alone, on both problems of the paper: time, bytes moved, and how near
// that comes to the streaming pass, which is timed first. ./porter bench puts these beside NumPy
// and PyTorch.
#include <benchmark/benchmark.h>

#include <chrono>
#include <map>

#include "parts.hpp"
#include "porter/core/error.hpp"

namespace {

using porter::concat;
using porter::bench::Parts;
using porter::bench::Setting;

// Built on first use and kept: drawing the digits takes longer than timing a round.
struct Bench {
  explicit Bench(const std::string& problem, const std::vector<std::string>& overrides)
      : setting(PORTER_SOURCE_DIR "/bench/problems/" + problem + ".toml", overrides),
        parts(setting),
        algorithm(porter::make_algorithm("porter-dp", setting.algorithm())) {}

  Setting setting;
  Parts parts;
  std::unique_ptr<porter::Algorithm> algorithm;
  std::uint32_t round = 0;
  double limit = 0;  // bytes per second of the streaming pass
};

Bench& bench_of(const std::string& problem, const std::string& batch) {
  static std::map<std::string, std::unique_ptr<Bench>> built;
  auto& bench = built[problem + batch];
  if (!bench)
    bench = std::make_unique<Bench>(problem, std::vector<std::string>{"algorithm.batch=" + batch});
  return *bench;
}

void run(benchmark::State& state, const char* problem, const char* batch, const std::string& part) {
  auto& bench = bench_of(problem, batch);
  double bytes = porter::bench::round_bytes(bench.setting, *bench.algorithm);
  for (const auto& known : bench.parts.list())
    if (known.name == part) bytes = known.bytes;
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state)
    if (part == "round")
      bench.algorithm->step(++bench.round);
    else
      bench.parts.run(part, ++bench.round);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const double rate = bytes * static_cast<double>(state.iterations()) / elapsed.count();
  if (part == "stream" || part == "stream_1") bench.limit = std::max(bench.limit, rate);
  state.counters["bytes"] = bytes;
  state.counters["rate"] = rate;
  if (bench.limit > 0) state.counters["of_limit"] = rate / bench.limit;
}

const int registered = [] {
  for (const auto& [problem, batch] : {std::pair{"a9a", "1"}, {"mlp", "1"}, {"mlp", "128"}})
    for (const std::string part :
         {"stream", "stream_1", "round", "gradient", "noise", "compress", "mix", "update"})
      benchmark::RegisterBenchmark(concat(problem, "/b:", batch, "/", part).c_str(), run, problem,
                                   batch, part)
          ->UseRealTime();
  return 0;
}();

}  // namespace
