// SPDX-License-Identifier: Apache-2.0
// The cost per value of normals from several sources, and of simulated and secure noise per
// coordinate, from entropy to noised gradient. On a shared machine take the least of repetitions:
//   noise_bench --benchmark_repetitions=9 --benchmark_filter=normals
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "porter/core/normal_noise.hpp"
#include "porter/core/rng.hpp"
#include "porter/core/simd.hpp"
#include "porter/privacy/secure_noise.hpp"

namespace {

void per_value(benchmark::State& state) {
  const auto values = static_cast<double>(state.iterations()) * static_cast<double>(state.range(0));
  state.counters["per_value"] =
      benchmark::Counter(values, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class Number>
void standard_normals(benchmark::State& state) {
  std::vector<Number> z(static_cast<std::size_t>(state.range(0)));
  std::mt19937_64 engine(1);
  std::normal_distribution<Number> normal;
  for (auto _ : state) {
    for (auto& value : z) value = normal(engine);
    benchmark::DoNotOptimize(z.data());
  }
  per_value(state);
}
BENCHMARK(standard_normals<double>)->Arg(50890);
BENCHMARK(standard_normals<float>)->Arg(50890);

void stream_normals(benchmark::State& state) {
  std::vector<double> z(static_cast<std::size_t>(state.range(0)));
  std::uint32_t round = 0;
  for (auto _ : state) {
    porter::RngStream(1, porter::Draw::noise, 0, ++round).fill_normal(z);
    benchmark::DoNotOptimize(z.data());
  }
  per_value(state);
}
BENCHMARK(stream_normals)->Arg(50890);

// The second argument is an instruction set: its place in simd_targets().
void every_simd_target(benchmark::internal::Benchmark* benchmark) {
  for (std::size_t i = 0; i < porter::simd_targets().size(); ++i)
    benchmark->Args({50890, static_cast<std::int64_t>(i)});
}

void limit_simd(benchmark::State& state) {
  const auto target = porter::simd_targets().at(static_cast<std::size_t>(state.range(1)));
  porter::limit_simd(target);
  state.SetLabel(target);
}

void noise_normals(benchmark::State& state) {
  limit_simd(state);
  std::vector<float> z(static_cast<std::size_t>(state.range(0)));
  std::uint32_t round = 0;
  for (auto _ : state) {
    porter::NormalNoise(1, 0, ++round).fill(0, z);
    benchmark::DoNotOptimize(z.data());
  }
  per_value(state);
  porter::limit_simd(porter::simd_targets().front());
}
BENCHMARK(noise_normals)->Apply(every_simd_target);

void philox_words(benchmark::State& state) {
  limit_simd(state);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(state.range(0)));
  std::uint32_t round = 0;
  for (auto _ : state) {
    porter::philox_words(1, porter::Draw::test, 0, ++round, 0, words);
    benchmark::DoNotOptimize(words.data());
  }
  per_value(state);
  porter::limit_simd(porter::simd_targets().front());
}
BENCHMARK(philox_words)->Apply(every_simd_target);

// As the gradients do it: a float normal times sigma, added in double.
void simulated_noise(benchmark::State& state) {
  std::vector<double> g(static_cast<std::size_t>(state.range(0)));
  std::vector<float> normals(g.size());
  std::uint32_t round = 0;
  for (auto _ : state) {
    porter::NormalNoise(1, 0, ++round).fill(0, normals);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] += 0.5 * static_cast<double>(normals[i]);
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

// What secure noise is made of: the key stream, one word a value; integers of the law from it; what
// is left of secure_noise is rounding and adding.
void secret_words(benchmark::State& state) {
  porter::NoiseStream stream;
  std::vector<std::uint64_t> words(256);
  for (auto _ : state)
    for (std::int64_t i = 0; i < state.range(0); i += 256) {
      stream.fill(words);
      benchmark::DoNotOptimize(words.data());
    }
  per_value(state);
}
BENCHMARK(secret_words)->Arg(51200);

void discrete_gaussian(benchmark::State& state) {
  const porter::DiscreteGaussian law(0x1p22);
  porter::NoiseStream stream;
  std::vector<double> values(256);
  for (auto _ : state)
    for (std::int64_t i = 0; i < state.range(0); i += 256) {
      law.fill(stream, values);
      benchmark::DoNotOptimize(values.data());
    }
  per_value(state);
}
BENCHMARK(discrete_gaussian)->Arg(51200);

void secure_noise_setup(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(porter::SecureNoise(0.5, 2.0, 50890).grid());
}
BENCHMARK(secure_noise_setup);

void secret_stream_setup(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(porter::NoiseStream().next_u64());
}
BENCHMARK(secret_stream_setup);

}  // namespace
