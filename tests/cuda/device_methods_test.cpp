// SPDX-License-Identifier: Apache-2.0
// The methods and compressors beside those of device_porter_test.cpp, compiled for the host,
// against the library: the same bits in every matrix of the state.
#include <gtest/gtest.h>

#include "method_cases.hpp"
#include "says.hpp"

namespace porter {
namespace {

void expect_same_where_offered(std::vector<Case> cases) {
  for (auto& c : cases)
    for (const auto precision : {Precision::wide, Precision::narrow}) {
      if (!is_offered(c, precision)) continue;
      c.precision = precision;
      EXPECT_EQ(run_difference(c), "") << c.name;
    }
}

TEST(DeviceMethods, HaveTheBitsOfTheLibrary) { expect_same_where_offered(method_cases()); }
TEST(DeviceMethods, HaveTheBitsOfEveryCompressor) { expect_same_where_offered(compressor_cases()); }
TEST(DeviceMethods, HaveTheBitsOfSweeps) { expect_same_where_offered(sweep_cases()); }

TEST(DeviceMethods, HaveTheBitsOfTheLibraryInEveryCombination) {
  auto cases = all_cases();
  for (auto& c : cases) c.rounds = 2;
  expect_same_where_offered(cases);
}

TEST(DeviceMethods, GoOnWhereTheLibraryStopped) {
  for (const auto& c : method_cases()) EXPECT_EQ(relay_difference(c), "") << c.name;
}

TEST(DeviceMethods, DoNotDependOnTheOrderOfAStep) {
  for (const auto order : {Order::backward, Order::interleaved}) {
    std::vector<Case> cases;
    for (const auto& compressor : offered_compressors())
      cases.push_back({.name = compressor, .compressor = compressor, .rounds = 3, .order = order});
    for (const char* algorithm : {"choco-sgd", "porter-sweep", "sweep-led"})
      cases.push_back({.name = algorithm, .algorithm = algorithm, .rounds = 3, .order = order});
    expect_same_where_offered(cases);
  }
}

// Equal magnitudes, of which the first are kept; and zeros of either sign.
TEST(DeviceMethods, TopKKeepsTheFirstOfEqualMagnitudes) {
  const Case c{.name = "ties", .algorithm = "choco-sgd", .compressor = "top_k:k=40"};
  Bench bench(c);
  for (std::size_t j = 0; j < bench.start.size(); ++j)
    bench.start[j] = (j % 3 == 0 ? -0.5 : 0.5) * static_cast<double>(j % 2);
  auto setup = bench.setup(c);
  setup.gradients.clip = parse_clip("linear:1e-30");  // all differences are those of the start
  const auto expected = bench.info.make(setup), found = make_on_device(setup, bench);
  for (auto* algorithm : {expected.get(), found.get()}) {
    for (auto& [name, matrix, copied] : algorithm->state())
      for (std::size_t i = 0; name == "Q0" && i < c.agents; ++i)
        std::ranges::fill(std::get<Rows*>(matrix)->row(i), 0.0);
    for (std::uint32_t round = 1; round <= 3; ++round) algorithm->step(round);
  }
  EXPECT_EQ(difference(*expected, *found), "");
}

std::string failure_of(Algorithm& algorithm) {
  return what_fails([&] {
    for (std::uint32_t round = 1; round < 80; ++round) algorithm.step(round);
  });
}

// One thread: the first agent that the library refuses is the one.
TEST(DeviceMethods, RefuseWhatTheLibraryRefuses) {
  for (const auto& compressor : offered_compressors())
    for (const double step : {1e12, 1e300}) {
      const Case c{.name = compressor, .algorithm = "choco-sgd", .compressor = compressor};
      Bench bench(c);
      auto setup = bench.setup(c);
      setup.gradients.clip = parse_clip("none");
      setup.eta = step;
      const auto expected = bench.info.make(setup), found = make_on_device(setup, bench);
      const auto text = failure_of(*expected);
      EXPECT_NE(text, "") << compressor << step;
      EXPECT_EQ(failure_of(*found), text) << compressor << step;
    }
}

TEST(DeviceMethods, RefuseWhatACodeDoesNotHold) {
  for (const char* compressor : {"sign", "qsgd:6", "natural"}) {
    const Case c{.name = compressor, .algorithm = "choco-sgd", .compressor = compressor};
    Bench bench(c);
    auto setup = bench.setup(c);
    const auto expected = bench.info.make(setup), found = make_on_device(setup, bench);
    for (auto* algorithm : {expected.get(), found.get()})
      for (auto& [name, matrix, copied] : algorithm->state())
        if (name == "X")
          for (auto& x : std::get<Rows*>(matrix)->row(2)) x = 3.2e38;
    const auto text = failure_of(*expected);
    EXPECT_NE(text, "") << compressor;
    EXPECT_EQ(failure_of(*found), text) << compressor;
  }
}

TEST(DeviceMethods, SayHowManyAgentsThereIsRoomFor) {
  for (const char* algorithm : {"choco-sgd", "porter-sweep", "sweep-led", "motef"}) {
    const Case c{.name = algorithm, .algorithm = algorithm, .momentum = 0.5};
    Bench bench(c);
    const auto setup = bench.setup(c);
    constexpr std::size_t kFree = (std::size_t{64} << 20) + 20'000;
    const auto text = what_fails([&] {
      cuda::make_on_device(setup, bench.request, std::make_unique<Device>(Order::forward, kFree));
    });
    EXPECT_TRUE(says(text, "5 agents (network.agents)")) << text;
    EXPECT_TRUE(says(text, "room for ")) << text;
  }
}

TEST(DeviceMethods, DrawElsewhereWhereABlockHasTooLittleMemory) {
  const Case c{.name = "little memory", .algorithm = "choco-sgd", .batch = 4};
  Bench bench(c);
  const auto setup = bench.setup(c);
  const auto expected = bench.info.make(setup);
  const auto found = cuda::make_on_device(
      setup, bench.request, std::make_unique<Device>(Order::forward, std::size_t{1} << 33, 100));
  for (std::uint32_t round = 1; round <= 4; ++round) {
    expected->step(round);
    found->step(round);
  }
  EXPECT_EQ(difference(*expected, *found), "");
}

}  // namespace
}  // namespace porter
