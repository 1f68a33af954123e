// SPDX-License-Identifier: Apache-2.0
// The cost per coordinate of simulated and of secure noise, from entropy to noised gradient.
#include <benchmark/benchmark.h>

#include <vector>

#include "porter/core/rng.hpp"
#include "porter/core/vector_math.hpp"
#include "porter/privacy/secure_noise.hpp"

namespace {

void per_value(benchmark::State& state) {
  const auto values = static_cast<double>(state.iterations()) * static_cast<double>(state.range(0));
  state.counters["per_value"] =
      benchmark::Counter(values, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void simulated_noise(benchmark::State& state) {
  std::vector<double> g(static_cast<std::size_t>(state.range(0))), noise(g.size());
  std::uint32_t round = 0;
  for (auto _ : state) {
    porter::RngStream(1, porter::Draw::noise, 0, ++round).fill_normal(noise);
    porter::axpy(0.5, noise, g);
    benchmark::DoNotOptimize(g.data());
  }
  per_value(state);
}
BENCHMARK(simulated_noise)->Arg(124)->Arg(50890);

void secure_noise(benchmark::State& state) {
  std::vector<double> g(static_cast<std::size_t>(state.range(0)));
  const porter::SecureNoise mechanism(0.5, 2.0, g.size());
  porter::NoiseStream stream;
  for (auto _ : state) {
    mechanism.release(g, stream);
    benchmark::DoNotOptimize(g.data());
  }
  per_value(state);
}
BENCHMARK(secure_noise)->Arg(124)->Arg(50890);

void secret_word(benchmark::State& state) {
  porter::NoiseStream stream;
  for (auto _ : state)
    for (std::int64_t i = 0; i < state.range(0); ++i) benchmark::DoNotOptimize(stream.next_u64());
  per_value(state);
}
BENCHMARK(secret_word)->Arg(50890);

void secure_noise_setup(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(porter::SecureNoise(0.5, 2.0, 50890).grid());
}
BENCHMARK(secure_noise_setup);

void secret_stream_setup(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(porter::NoiseStream().next_u64());
}
BENCHMARK(secret_stream_setup);

}  // namespace
