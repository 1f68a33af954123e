// SPDX-License-Identifier: Apache-2.0
// The kernels of the CUDA engine, compiled for the host, against the library: whole runs end with
// the same bits in every matrix of the state, whatever the order in which a step does its work.
#include "cuda/device_porter.hpp"

#include <gtest/gtest.h>

#include "cases.hpp"
#include "says.hpp"

namespace porter {
namespace {

// Every case in both precisions.
void expect_same_runs(std::vector<Case> cases) {
  for (auto& c : cases)
    for (const auto precision : {Precision::wide, Precision::narrow}) {
      c.precision = precision;
      EXPECT_EQ(run_difference(c), "") << c.name;
    }
}

TEST(DevicePorter, HasTheBitsOfTheLibraryForOneSample) { expect_same_runs(one_sample_cases()); }
TEST(DevicePorter, HasTheBitsOfTheLibraryForBatches) { expect_same_runs(batch_cases()); }
TEST(DevicePorter, HasTheBitsOfTheLibraryForEveryWayOfMixing) { expect_same_runs(mixing_cases()); }

TEST(DevicePorter, DoesNotDependOnTheOrderOfAStep) {
  for (const auto order : {Order::backward, Order::interleaved})
    expect_same_runs({
        {.name = "mlp", .order = order},
        {.name = "stored",
         .compressor = "random_k:0.03",
         .agents = 34,
         .rows_per_agent = 3,
         .features = 260,
         .model = {.name = "mlp", .hidden = {17}},
         .rounds = 3,
         .order = order},
        {.name = "batches", .batch = 4, .pictures = true, .order = order},
        {.name = "logistic",
         .classes = 2,
         .batch = 3,
         .model = {.name = "logistic", .lambda = 0.1},
         .order = order},
        {.name = "porter-gc", .algorithm = "porter-gc", .batch = 3, .order = order},
    });
}

TEST(DevicePorter, GoesOnWhereTheLibraryStopped) {
  for (const auto precision : {Precision::wide, Precision::narrow})
    for (const char* compressor : {"random_k:0.2", "random_k:0.02"})
      EXPECT_EQ(
          relay_difference({.name = "resumed", .compressor = compressor, .precision = precision}),
          "");
}

TEST(DevicePorter, HasItsDrawsInOtherMemoryWhereABlockHasTooLittle) {
  const Case c{.name = "little memory", .batch = 4};
  Bench bench(c);
  const auto setup = bench.setup(c);
  const auto expected = bench.info.make(setup);
  const auto found = cuda::make_device_porter(
      setup, bench.request, std::make_unique<Device>(Order::forward, std::size_t{1} << 33, 100));
  for (std::uint32_t round = 1; round <= 4; ++round) {
    expected->step(round);
    found->step(round);
  }
  EXPECT_EQ(difference(*expected, *found), "");
}

TEST(DevicePorter, SaysHowManyAgentsThereIsRoomFor) {
  const Case c{.name = "no room"};
  Bench bench(c);
  const auto setup = bench.setup(c);
  constexpr std::size_t kFree = (std::size_t{64} << 20) + 40'000;
  const auto text = what_fails([&] {
    cuda::make_device_porter(setup, bench.request, std::make_unique<Device>(Order::forward, kFree));
  });
  EXPECT_TRUE(says(text, "5 agents (network.agents)")) << text;
  EXPECT_TRUE(says(text, "room for 2 agents")) << text;
}

// The step in which a run fails, and what it says.
std::string failure(Algorithm& algorithm) {
  std::uint32_t round = 1;
  std::string text;
  for (; text.empty() && round < 50; ++round) try {
      algorithm.step(round);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::numeric);
      text = error.what();
    }
  return concat(round, ": ", text);
}

TEST(DevicePorter, RefusesAMessageThatIsTooLong) {
  for (const Case& c :
       {Case{.name = "diverges", .algorithm = "beer"}, Case{.name = "a small model",
                                                       .algorithm = "beer",
                                                       .classes = 2,
                                                       .model = {.name = "logistic"}}}) {
    SCOPED_TRACE(c.name);
    Bench bench(c);
    auto setup = bench.setup(c);
    setup.eta = 1e12;
    const auto expected = bench.info.make(setup), found = make_on_device(setup, bench);
    const auto text = failure(*found);
    EXPECT_TRUE(says(text, "has diverged")) << text;
    EXPECT_EQ(failure(*expected), text);  // one thread: the first agent is the one
  }
}

TEST(DevicePorter, DoesARoundOfASmallModelInOneLaunch) {
  const Case c{.name = "counted", .classes = 2, .model = {.name = "logistic"}};
  Bench bench(c);
  const auto setup = bench.setup(c);
  cuda::DevicePorter<double> porter(setup, bench.request, std::make_unique<Device>());
  porter.step(1);
  EXPECT_EQ(porter.device().launches(), 3);  // masks, first messages, their check
  porter.step(2);
  EXPECT_EQ(porter.device().launches(), 5);  // batches, round 1
  porter.step(3);
  EXPECT_EQ(porter.device().launches(), 6);  // round 2
}

TEST(DevicePorter, RunsEveryKernel) {
  const Case c{.name = "counted"};
  Bench bench(c);
  const auto setup = bench.setup(c);
  cuda::DevicePorter<double> porter(setup, bench.request, std::make_unique<Device>());
  porter.step(1);
  EXPECT_EQ(porter.device().launches(), 4);  // masks, first messages, batches, gradients
  porter.step(2);
  EXPECT_EQ(porter.device().launches(), 6);  // the update of round 1, gradients
  porter.iterates();
  EXPECT_EQ(porter.device().launches(), 7);  // the update of round 2
}

}  // namespace
}  // namespace porter
