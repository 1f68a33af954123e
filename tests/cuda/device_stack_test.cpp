// SPDX-License-Identifier: Apache-2.0
// Networks over images and batches of random size on the engine, compiled for the host, against the
// library: the same bits in every matrix of the state.
#include "cuda/device_stack.hpp"

#include <gtest/gtest.h>

#include "method_cases.hpp"
#include "says.hpp"
#include "stack_cases.hpp"

namespace porter {
namespace {

void expect_same_networks(std::vector<Case> cases) {
  for (auto& c : cases)
    for (const auto precision : {Precision::wide, Precision::narrow}) {
      if (!is_offered(c, precision)) continue;
      c.precision = precision;
      EXPECT_EQ(run_difference(c), "") << c.name << ", b = " << c.batch;
    }
}

TEST(DeviceStack, HasTheBitsOfTheLibrary) { expect_same_networks(stack_cases()); }

TEST(DeviceStack, DoesNotDependOnTheOrderOfAStep) {
  for (const auto order : {Order::backward, Order::interleaved}) {
    auto cases = stack_cases();
    for (auto& c : cases) c.order = order;
    expect_same_networks(cases);
  }
}

TEST(PoissonBatches, HaveTheBitsOfTheLibrary) { expect_same_networks(poisson_cases()); }

// What the case "long" above must have met: the engine has room for likely_size before it draws.
TEST(PoissonBatches, AreEmptyOrSingleOrLargerThanTheRoomThatWasMade) {
  const BatchSampler sampler(Sampler::poisson, 40, 2);
  std::size_t empty = 0, single = 0, larger = 0;
  for (std::uint32_t round = 1; round <= kLongRounds; ++round)
    for (std::uint32_t agent = 0; agent < 5; ++agent) {
      RngStream rng(5, Draw::batch, agent, round);
      std::vector<std::uint32_t> batch;
      sampler.draw(rng, batch);
      empty += batch.empty();
      single += batch.size() == 1;
      larger += batch.size() > cuda::PoissonBatches::likely_size(sampler);
    }
  EXPECT_GT(empty, 0U);
  EXPECT_GT(single, 0U);
  EXPECT_GT(larger, 0U);
}

// Gradients of nine samples, `most_bytes` of memory for what is between the layers.
template <class Real>
std::vector<Real> sums_of(const Case& c, bool by_sample, std::size_t most_bytes) {
  Bench bench(c);
  const auto setup = bench.setup(c);
  const Device device;
  const cuda::DeviceData<Real> data(device, bench.data, cuda::Reader::images);
  auto rows = data.rows();
  rows.per_agent = rows.batch = 9;
  const std::size_t dim = bench.start.size();
  std::vector<Real> X(c.agents * dim), G(X.size());
  for (std::size_t i = 0; i < X.size(); ++i) X[i] = static_cast<Real>(bench.start[i % dim]);
  const cuda::Array<Real> x(device, std::span<const Real>(X)), g(device, X.size());
  const cuda::Array<double> scales(device, c.agents);
  const cuda::Clipping clipping{Clip::Kind::smooth, 0.7, by_sample, 1.0 / 9};
  const cuda::DeviceStack<Real, Real> stack(device, setup, bench.request, clipping,
                                            static_cast<std::uint32_t>(dim), most_bytes);
  device.launch(stack.begin(x.data()));
  stack.finish(rows, g.data(), scales.data());
  device.download(G.data(), g.data(), G.size() * sizeof(Real));
  return G;
}

TEST(DeviceStack, TakesSamplesInTurnsWhereThereAreManyOfThem) {
  const auto c = layers_case("turns", {"conv:3x3", "groupnorm:1", "tanh", "maxpool:2"}, 9);
  for (const bool by_sample : {true, false}) {
    EXPECT_EQ(sums_of<double>(c, by_sample, 1), sums_of<double>(c, by_sample, 1 << 30));
    EXPECT_EQ(sums_of<float>(c, by_sample, 50'000), sums_of<float>(c, by_sample, 1 << 30));
  }
}

TEST(DeviceStack, SaysHowManyAgentsThereIsRoomFor) {
  const auto c = layers_case("room", {"conv:3x3"}, 4);
  Bench bench(c);
  const auto setup = bench.setup(c);
  constexpr std::size_t kFree = (std::size_t{64} << 20) + 50'000;
  const auto text = what_fails([&] {
    cuda::make_on_device(setup, bench.request, std::make_unique<Device>(Order::forward, kFree));
  });
  EXPECT_TRUE(says(text, "5 agents (network.agents)")) << text;
}

}  // namespace
}  // namespace porter
