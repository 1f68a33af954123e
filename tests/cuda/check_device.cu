// SPDX-License-Identifier: Apache-2.0
// check_device: on a machine with a GPU, whether runs there end with the bits of the library, and
// what a round takes on either. Exit code 1: something differs. For run.sh beside it.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "method_cases.hpp"

namespace porter {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

const char* name_of(Precision precision) {
  return precision == Precision::wide ? "double" : "float";
}

// How many of the cases differ.
template <class Compare>
int check(const char* what, std::vector<Case> cases, const Compare& compare) {
  const auto start = Clock::now();
  int bad = 0;
  std::size_t runs = 0;
  for (auto& c : cases)
    for (const auto precision : {Precision::wide, Precision::narrow}) {
      if (!is_offered(c, precision)) continue;
      c.precision = precision;
      ++runs;
      const auto text = compare(c);
      if (text.empty()) continue;
      ++bad;
      std::printf("DIFFERS: %s, %s: %.300s\n", c.name.c_str(), name_of(precision), text.c_str());
    }
  std::printf("%s: %zu runs, %d differ (%.1f s)\n", what, runs, bad, seconds_since(start));
  std::fflush(stdout);
  return bad;
}

// Rounds until a second or so has passed; the last download waits for all of them.
double microseconds_a_round(Algorithm& algorithm, std::uint32_t first, double budget) {
  const auto start = Clock::now();
  std::uint32_t round = first;
  while (round < first + 2000 && seconds_since(start) < budget) algorithm.step(round++);
  algorithm.iterates();
  return 1e6 * seconds_since(start) / (round - first);
}

// Steps with which hundreds of rounds stay within the bounds of messages.
AlgorithmSetup with_small_steps(AlgorithmSetup setup) {
  setup.eta = setup.gamma = 0.01;
  setup.rounds = 5000;
  return setup;
}

// 200 rounds of everything that is offered.
std::string long_difference(const Case& c) {
  Bench bench(c);
  const auto setup = with_small_steps(bench.setup(c));
  const auto expected = bench.info.make(setup), found = make_on_device(setup, bench);
  for (std::uint32_t round = 1; round <= 200; ++round) {
    expected->step(round);
    found->step(round);
  }
  return difference(*expected, *found);
}

// A round of the paper's network, checked after some rounds where the library is quick enough.
int time_network(std::size_t agents, std::size_t batch, Precision precision) {
  Case c{.name = "timed", .agents = agents, .rows_per_agent = batch == 1 ? 20 : batch + 50};
  c.features = 784, c.classes = 10, c.batch = batch, c.precision = precision, c.pictures = true;
  c.compressor = "random_k:0.05";
  c.model = {.name = "mlp", .hidden = {64}};
  Bench bench(c);
  bench.network = Bench::make_network(agents, concat("regular:", agents > 8 ? 8 : 4));
  const auto setup = with_small_steps(bench.setup(c));
  const auto on_device = make_on_device(setup, bench);
  for (std::uint32_t round = 1; round <= 4; ++round) on_device->step(round);
  std::string verdict = "not compared";
  double host = 0;
  if (agents * batch <= 1000) {
    ThreadPool pool(0);
    const auto with_pool = with_small_steps(bench.setup(c, &pool));
    const auto expected = bench.info.make(with_pool);
    const auto start = Clock::now();
    for (std::uint32_t round = 1; round <= 4; ++round) expected->step(round);
    host = 1e6 * seconds_since(start) / 4;
    verdict = difference(*expected, *on_device);
    if (verdict.empty()) verdict = "same bits";
  }
  on_device->step(5);
  const double device = microseconds_a_round(*on_device, 6, 1.0);
  std::printf("mlp 784-64-10, n = %zu, b = %zu, %s: %.1f us a round (processor: %.0f us); %.200s\n",
              agents, batch, name_of(precision), device, host, verdict.c_str());
  std::fflush(stdout);
  return verdict == "same bits" || verdict == "not compared" ? 0 : 1;
}

int run(const std::string& what) {
  const Device device;
  std::printf("%s, %.1f GB free\n", device.name().c_str(),
              static_cast<double>(device.free_bytes()) / 1e9);
  int bad = check("single samples", one_sample_cases(), run_difference) +
            check("batches", batch_cases(), run_difference) +
            check("ways of mixing", mixing_cases(), run_difference) +
            check("methods", method_cases(), run_difference) +
            check("compressors", compressor_cases(), run_difference) +
            check("sweeps", sweep_cases(), run_difference) +
            check("the engine in the middle of a run", method_cases(), relay_difference) +
            check("200 rounds of every combination", all_cases(), long_difference);
  if (what != "check")
    for (const auto precision : {Precision::wide, Precision::narrow}) {
      for (const std::size_t agents : {10, 100, 1000, 4000})
        bad += time_network(agents, 1, precision);
      for (const std::size_t agents : {10, 100}) bad += time_network(agents, 600, precision);
    }
  std::printf(bad == 0 ? "all the same\n" : "%d differences\n", bad);
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace porter

// check_device [check]: without the times of rounds.
int main(int argc, char** argv) {
  try {
    return porter::run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "check_device: %s\n", error.what());
    return 2;
  }
}
