// SPDX-License-Identifier: Apache-2.0
// The cost per value of normals from several sources, and of simulated and secure noise per
// coordinate, from entropy to noised gradient. On a shared machine take the least of repetitions:
//   noise_bench --benchmark_repetitions=9 --benchmark_filter=normals
//   noise_bench --benchmark_filter=secure_over_simulated
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "core/normal_noise.hpp"
#include "core/simd.hpp"
#include "core/vector_math.hpp"
#include "porter/core/rng.hpp"
#include "privacy/secure_noise.hpp"

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

class SimdOf {
 public:
  explicit SimdOf(benchmark::State& state) : before_(porter::simd_target()) {
    const auto target = porter::simd_targets().at(static_cast<std::size_t>(state.range(1)));
    porter::limit_simd(target);
    state.SetLabel(target);
  }
  ~SimdOf() { porter::limit_simd(before_); }

 private:
  std::string before_;
};

void noise_normals(benchmark::State& state) {
  const SimdOf simd(state);
  std::vector<float> z(static_cast<std::size_t>(state.range(0)));
  std::uint32_t round = 0;
  for (auto _ : state) {
    porter::NormalNoise(1, 0, ++round).fill(0, z);
    benchmark::DoNotOptimize(z.data());
  }
  per_value(state);
}
BENCHMARK(noise_normals)->Apply(every_simd_target);

void philox_words(benchmark::State& state) {
  const SimdOf simd(state);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(state.range(0)));
  std::uint32_t round = 0;
  for (auto _ : state) {
    porter::philox_words(1, porter::Draw::test, 0, ++round, 0, words);
    benchmark::DoNotOptimize(words.data());
  }
  per_value(state);
}
BENCHMARK(philox_words)->Apply(every_simd_target);

// As the gradients do it: a float normal times sigma, added in double.
class Simulated {
 public:
  explicit Simulated(std::size_t dim) : normals_(dim) {}
  void add_to(std::vector<double>& g) {
    porter::NormalNoise(1, 0, ++round_).fill(0, normals_);
    porter::axpy(0.5, normals_, g);
  }

 private:
  std::vector<float> normals_;
  std::uint32_t round_ = 0;
};

class Secure {
 public:
  explicit Secure(std::size_t dim) : mechanism_(0.5, 2.0, dim) {}
  void add_to(std::vector<double>& g) { mechanism_.release(g, stream_); }

 private:
  porter::SecureNoise mechanism_;
  porter::NoiseStream stream_;
};

template <class Noise>
void noise(benchmark::State& state) {
  std::vector<double> g(static_cast<std::size_t>(state.range(0)));
  Noise source(g.size());
  for (auto _ : state) {
    source.add_to(g);
    benchmark::DoNotOptimize(g.data());
  }
  per_value(state);
}
BENCHMARK(noise<Simulated>)->Arg(124)->Arg(50890);
BENCHMARK(noise<Secure>)->Arg(124)->Arg(50890);

template <class Noise>
double seconds(Noise& source, std::vector<double>& g) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t values = 0; values < 50'000; values += g.size()) source.add_to(g);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Both in turn, so that they meet the same machine; the least time of each.
void secure_over_simulated(benchmark::State& state) {
  std::vector<double> g(static_cast<std::size_t>(state.range(0)));
  Simulated simulated(g.size());
  Secure secure(g.size());
  double least_simulated = 1, least_secure = 1;
  for (auto _ : state) {
    least_simulated = std::min(least_simulated, seconds(simulated, g));
    least_secure = std::min(least_secure, seconds(secure, g));
  }
  state.counters["ratio"] = least_secure / least_simulated;
}
BENCHMARK(secure_over_simulated)->Arg(124)->Arg(50890)->Iterations(2000);

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
