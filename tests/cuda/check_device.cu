// SPDX-License-Identifier: Apache-2.0
// check_device: on a machine with a GPU, whether runs there end with the bits of the library, and
// what a round takes on either. Exit code 1: something differs. For run.sh beside it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/normal_noise.hpp"
#include "core/sampling.hpp"
#include "method_cases.hpp"
#include "stack_cases.hpp"

namespace porter {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

const char* name_of(Precision precision) {
  return precision == Precision::wide ? "double" : "float";
}

/// Which of the runs this process does: those whose number is `part` modulo `parts`.
struct Share {
  std::size_t part = 0, parts = 1, number = 0;
  bool has_next() { return number++ % parts == part; }
};

// How many of the cases differ.
template <class Compare>
int check(Share& share, const char* what, std::vector<Case> cases, const Compare& compare) {
  const auto start = Clock::now();
  int bad = 0;
  std::size_t runs = 0;
  for (auto& c : cases)
    for (const auto precision : {Precision::wide, Precision::narrow}) {
      if (!is_offered(c, precision) || !share.has_next()) continue;
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

// Rounds until a second or so has passed.
template <class Real>
double microseconds_a_round(cuda::DevicePorter<Real>& porter, std::uint32_t first, double budget) {
  porter.device().mark();
  porter.device().wait();
  const auto start = Clock::now();
  std::uint32_t round = first;
  for (double left = budget; left > 0 && round < first + 20000;
       left = budget - seconds_since(start)) {
    for (std::uint32_t end = round + 64; round < end; ++round) porter.step(round);
    porter.device().mark();
    porter.device().wait();
  }
  return 1e6 * seconds_since(start) / (round - first);
}

// Steps with which hundreds of rounds stay within the bounds of messages.
AlgorithmSetup with_small_steps(AlgorithmSetup setup) {
  setup.eta = setup.gamma = 0.01;
  setup.rounds = 50000;
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

Case network_case(std::size_t agents, std::size_t batch) {
  Case c{.name = "mlp 784-64-10", .agents = agents};
  c.rows_per_agent = batch == 1 ? (agents > 4000 ? 6 : 20) : batch + 50;
  c.features = 784, c.classes = 10, c.batch = batch, c.pictures = true;
  c.compressor = "random_k:0.05";
  c.model = {.name = "mlp", .hidden = {64}};
  return c;
}
Case image_case(std::size_t agents, std::size_t batch) {
  Case c{.name = "cnn of 28 x 28", .agents = agents, .rows_per_agent = batch == 1 ? 20 : 2 * batch};
  c.features = 784, c.classes = 10, c.batch = batch, c.pictures = true;
  c.compressor = agents == 1 ? "identity" : "random_k:0.05";
  c.model = {.name = "cnn", .image = {28, 28}};
  if (batch > 1) c.sampler = Sampler::poisson;
  return c;
}
Case logistic_case(std::size_t agents) {
  Case c{.name = "logistic, d = 124", .agents = agents, .rows_per_agent = 3};
  c.features = 124, c.classes = 2, c.sparse = true;
  c.compressor = "random_k:0.05";
  c.model = {.name = "logistic", .lambda = 0.2};
  return c;
}

// A round, checked after some rounds where the library is quick enough.
template <class Real>
int time_rounds(Case c) {
  c.precision = sizeof(Real) == 8 ? Precision::wide : Precision::narrow;
  Bench bench(c);
  bench.network = Bench::make_network(
      c.agents, c.agents == 1 ? "complete" : concat("regular:", c.agents > 8 ? 8 : 4));
  const auto setup = with_small_steps(bench.setup(c));
  cuda::DevicePorter<Real> porter(setup, bench.request, std::make_unique<Device>());
  std::string verdict = "not compared";
  double host = 0;
  if (c.agents * c.batch * bench.start.size() <= 60'000'000) {
    for (std::uint32_t round = 1; round <= 4; ++round) porter.step(round);
    ThreadPool pool(0);
    const auto with_pool = with_small_steps(bench.setup(c, &pool));
    const auto expected = bench.info.make(with_pool);
    for (std::uint32_t round = 1; round <= 4; ++round) expected->step(round);
    verdict = difference(*expected, porter);
    if (verdict.empty()) verdict = "same bits";
    const auto start = Clock::now();
    std::uint32_t rounds = 0;
    while (rounds < 2 || seconds_since(start) < 0.05) expected->step(5 + rounds++);
    host = 1e6 * seconds_since(start) / rounds;
  }
  for (std::uint32_t round = 5; round <= 8; ++round) porter.step(round);
  const double device = microseconds_a_round(porter, 9, 0.4);
  std::printf("%s, n = %zu, b = %zu, %s: %.1f us a round (processor: %.0f us); %.200s\n",
              c.name.c_str(), c.agents, c.batch, name_of(c.precision), device, host,
              verdict.c_str());
  std::fflush(stdout);
  return verdict == "same bits" || verdict == "not compared" ? 0 : 1;
}

int time_both(const Case& c) { return time_rounds<double>(c) + time_rounds<float>(c); }

// Bytes read and written a second by a plain copy: what rounds that are bound by memory may reach.
double copy_rate() {
  constexpr std::size_t kBytes = std::size_t{2} << 30;
  const Device device;
  const cuda::Array<char> from(device, kBytes), to(device, kBytes);
  double best = 0;
  for (int turn = 0; turn < 5; ++turn) {
    cudaDeviceSynchronize();
    const auto start = Clock::now();
    cudaMemcpy(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice);
    cudaDeviceSynchronize();
    best = std::max(best, 2.0 * kBytes / seconds_since(start));
  }
  return best;
}

int time_images() {
  return time_both(image_case(1, 1024)) + time_both(image_case(10, 600)) +
         time_both(image_case(10, 1)) + time_both(image_case(100, 1));
}

int time_all() {
  int bad = 0;
  std::printf("copies: %.2f TB/s\n", copy_rate() / 1e12);
  for (const std::size_t agents : {10, 100, 1000, 10000}) bad += time_both(network_case(agents, 1));
  for (const std::size_t agents : {5, 10, 20, 50, 1000, 10000})
    bad += time_both(logistic_case(agents));
  for (const std::size_t agents : {10, 100}) bad += time_both(network_case(agents, 600));
  return bad + time_images();
}

template <class T>
void write(const std::filesystem::path& file, std::span<const T> values) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size_bytes()));
}

// Three rounds in float with all that was drawn, for peers to do the same (bench/peers).
int write_for_peers(const std::filesystem::path& folder) {
  constexpr std::uint32_t kRounds = 3;
  auto c = network_case(12, 1);
  c.precision = Precision::narrow;
  Bench bench(c);
  bench.network = Bench::make_network(c.agents, "regular:8");
  const auto setup = with_small_steps(bench.setup(c));
  cuda::DevicePorter<float> porter(setup, bench.request, std::make_unique<Device>());
  const std::size_t dim = bench.start.size(), kept = *bench.compressor->kept(dim);
  const std::uint64_t seed = setup.gradients.seed;
  std::vector<std::uint32_t> rows, masks, some;
  std::vector<float> noise, part(dim), result, gap(c.agents * c.agents);
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    porter.step(round);
    for (std::uint32_t agent = 0; agent < c.agents; ++agent) {
      RngStream batch(seed, Draw::batch, agent, round);
      choose(1, c.rows_per_agent, batch, some);
      rows.push_back(agent * static_cast<std::uint32_t>(c.rows_per_agent) + some[0]);
      for (const auto use : {Draw::compress_v, Draw::compress_x}) {
        RngStream stream(seed, use, agent, round);
        choose(kept, dim, stream, some);
        masks.insert(masks.end(), some.begin(), some.end());
      }
      NormalNoise(seed, agent, round).fill(0, part);
      noise.insert(noise.end(), part.begin(), part.end());
    }
  }
  for (const double x : porter.iterates().flat()) result.push_back(static_cast<float>(x));
  const auto heard = incoming_weights(bench.network);
  for (std::size_t i = 0; i < heard.size(); ++i)
    for (const auto& [sender, weight] : heard[i])
      gap[i * c.agents + sender] = static_cast<float>(weight);
  const std::vector<float> start(bench.start.begin(), bench.start.end());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "sizes.txt") << c.agents << ' ' << bench.data.rows() << ' ' << kRounds;
  write<float>(folder / "start.f32", start);
  write<float>(folder / "gap.f32", gap);
  write<float>(folder / "data.f32", bench.data.values);
  write<float>(folder / "labels.f32", bench.data.labels);
  write<std::uint32_t>(folder / "rows.u32", rows);
  write<std::uint32_t>(folder / "masks.u32", masks);
  write<float>(folder / "noise.f32", noise);
  write<float>(folder / "result.f32", result);
  return 0;
}

int check_images(Share share) {
  return check(share, "networks over images", stack_cases(), run_difference) +
         check(share, "batches of random size", poisson_cases(), run_difference);
}

int check_all(Share share) {
  return check(share, "single samples", one_sample_cases(), run_difference) +
         check(share, "batches", batch_cases(), run_difference) +
         check(share, "ways of mixing", mixing_cases(), run_difference) +
         check(share, "methods", method_cases(), run_difference) +
         check(share, "compressors", compressor_cases(), run_difference) +
         check(share, "sweeps", sweep_cases(), run_difference) + check_images(share) +
         check(share, "the engine in the middle of a run", method_cases(), relay_difference) +
         check(share, "200 rounds of every combination", all_cases(), long_difference);
}

// Few rounds of each kernel: what a tool that watches every access gets through.
int check_little(Share share) {
  auto cases = one_sample_cases();
  for (const auto& more : {batch_cases(), mixing_cases(), method_cases(), compressor_cases()})
    cases.insert(cases.end(), more.begin(), more.end());
  const auto networks = stack_cases(), random = poisson_cases();
  for (const auto& more : {networks[9], networks[24], random[0], random[12]}) cases.push_back(more);
  for (auto& c : cases) c.rounds = 3;
  return check(share, "three rounds", cases, run_difference);
}

int run(const std::string& what, Share share, const char* folder) {
  if (what == "peers") return write_for_peers(folder);
  const Device device;
  std::printf("%s, %.1f GB free\n", device.name().c_str(),
              static_cast<double>(device.free_bytes()) / 1e9);
  int bad = 0;
  if (what == "one") return time_rounds<float>(network_case(1000, 1));
  if (what == "images") return check_images(share) + time_images();
  if (what == "some")
    return time_rounds<float>(network_case(10, 1)) + time_rounds<float>(network_case(100, 1)) +
           time_rounds<float>(network_case(1000, 1));
  if (what == "little") return check_little(share);
  if (what != "time") bad += check_all(share);
  if (what != "check") bad += time_all();
  if (bad == 0)
    std::printf("all the same\n");
  else
    std::printf("%d differences\n", bad);
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace porter

// check_device [check | little | time | images | one | some] [PART PARTS]: bits and times, or one
// of both, or a part of the runs whose bits are compared; images is both for networks over images
// and batches of random size, little are the runs for compute-sanitizer, one is a single case to
// profile, some are those that peers are timed beside. check_device peers FOLDER writes what peers
// compare themselves with.
int main(int argc, char** argv) {
  try {
    porter::Share share;
    if (argc > 3) {
      share.part = std::strtoul(argv[2], nullptr, 10);
      share.parts = std::max(1UL, std::strtoul(argv[3], nullptr, 10));
    }
    return porter::run(argc > 1 ? argv[1] : "", share, argc > 2 ? argv[2] : ".");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "check_device: %s\n", error.what());
    return 2;
  }
}
