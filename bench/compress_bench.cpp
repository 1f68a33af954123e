// SPDX-License-Identifier: Apache-2.0
// The cost of a compressed message, from two vectors of state to the bytes and what everyone
// decodes from them; of the draw of positions; and of the checksum.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "algo/message.hpp"
#include "core/sampling.hpp"
#include "porter/core/bytes.hpp"
#include "porter/core/rng.hpp"

namespace {

void per(benchmark::State& state, const char* unit, double count) {
  state.counters[unit] =
      benchmark::Counter(static_cast<double>(state.iterations()) * count,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void message(benchmark::State& state, const std::string& spec) {
  const auto dim = static_cast<std::size_t>(state.range(0));
  const auto compressor = porter::make_compressor(spec);
  std::vector<double> a(dim), b(dim, 0.25);
  porter::RngStream(1, porter::Draw::test, 0, 0).fill_normal(a);
  porter::Message out;
  std::uint32_t round = 0;
  for (auto _ : state) {
    const porter::RngStream rng(1, porter::Draw::compress_v, 0, ++round);
    porter::compress_difference(*compressor, a, b, rng, out);
    benchmark::DoNotOptimize(out.decoded.values.data());
  }
  per(state, "per_entry", static_cast<double>(dim));
  per(state, "per_sent_value", static_cast<double>(out.decoded.values.size()));
}

void choose(benchmark::State& state) {
  const auto dim = static_cast<std::size_t>(state.range(0));
  std::vector<std::uint32_t> out;
  std::uint32_t round = 0;
  for (auto _ : state) {
    porter::RngStream rng(1, porter::Draw::compress_v, 0, ++round);
    porter::choose(dim / 20, dim, rng, out);
    benchmark::DoNotOptimize(out.data());
  }
  per(state, "per_value", static_cast<double>(dim / 20));
}
BENCHMARK(choose)->Arg(124)->Arg(50890);

void add_decoded(benchmark::State& state) {
  const auto dim = static_cast<std::size_t>(state.range(0));
  std::vector<double> a(dim), b(dim, 0.25);
  porter::RngStream(1, porter::Draw::test, 0, 0).fill_normal(a);
  porter::Message out;
  porter::compress_difference(*porter::make_compressor("random_k:0.05"), a, b,
                              porter::RngStream(1, porter::Draw::compress_v, 0, 1), out);
  for (auto _ : state) {
    porter::add_decoded(0.5, out, b);
    benchmark::DoNotOptimize(b.data());
  }
  per(state, "per_value", static_cast<double>(out.decoded.values.size()));
}
BENCHMARK(add_decoded)->Arg(124)->Arg(50890);

void checksum(benchmark::State& state) {
  const porter::Payload bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5A});
  for (auto _ : state) benchmark::DoNotOptimize(porter::crc32(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(checksum)->Arg(24)->Arg(10176)->Arg(203560);

}  // namespace

int main(int argc, char** argv) {
  for (const auto& info : porter::compressor_table())
    benchmark::RegisterBenchmark(info.example.c_str(), message, info.example)->Arg(124)->Arg(50890);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
