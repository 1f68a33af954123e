// SPDX-License-Identifier: Apache-2.0
// A program of its own, as it counts every allocation, and refuses some.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <numeric>

#include "algo/message.hpp"
#include "model/inputs.hpp"
#include "porter/model/model.hpp"
#include "porter/privacy/accountant.hpp"
#include "toy_data.hpp"

namespace {

std::atomic<std::size_t> allocations = 0;
std::atomic<std::size_t> most_bytes = SIZE_MAX;  // of one allocation

// Not inline: the compiler would compare free with the operators that it sees, and complain.
[[gnu::noinline]] void* counted(std::size_t size) {
  ++allocations;
  void* memory = size <= most_bytes ? std::malloc(size == 0 ? 1 : size) : nullptr;
  if (memory != nullptr) return memory;
  throw std::bad_alloc();
}

[[gnu::noinline]] void give_back(void* memory) noexcept { std::free(memory); }

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }

namespace porter {
namespace {

TEST(CompressDifference, DoesNotAllocateOnceItsBuffersAreThere) {
  for (const auto& info : compressor_table())
    for (const std::size_t dim : {1, 124, 50890}) {
      const auto c = make_compressor(info.example);
      std::vector<double> a(dim), b(dim);
      Message message;
      const auto send = [&](std::uint32_t round) {
        RngStream(1, Draw::test, 0, round % 7).fill_normal(a);
        compress_difference(*c, a, b, RngStream(1, Draw::compress_x, 0, round), message);
        add_decoded(1.0, message, b);
      };
      // The numbers of entries that bernoulli keeps and of candidates of top_k vary: their largest
      // come early, but not at once.
      for (std::uint32_t round = 0; round < 200; ++round) send(round);
      const auto before = allocations.load();
      ASSERT_GT(before, 0U);
      for (std::uint32_t round = 0; round < 50; ++round) send(round);
      EXPECT_EQ(allocations.load(), before) << info.example << ", dim " << dim;
    }
}

TEST(GradientSum, DoesNotAllocateOnceItHasItsMemory) {
  const std::vector<ModelOptions> models = {
      {.name = "logistic", .lambda = 0.1},
      {.name = "softmax"},
      {.name = "mlp", .hidden = {5}},
      {.name = "mlp", .lambda = 0.1, .hidden = {6, 4, 3}},
      {.name = "linear"},
      {.name = "mlp", .hidden = {5}, .loss = LossKind::huber},
      {.name = "layers",
       .layers = {"conv:3x2", "tanh", "maxpool:2/1", "dense:4", "relu"},
       .image = {3, 4}}};
  const std::function<double(double)> clip = [](double norm) { return 1 / (1 + norm); };
  std::vector<std::uint32_t> rows(150);
  std::iota(rows.begin(), rows.end(), 0U);
  for (const auto& options : models)
    for (const bool sparse : {false, true}) {
      const std::size_t classes = is_regression(options) ? 0 : options.name == "logistic" ? 2 : 3;
      const auto data = toy_data(200, 12, classes, sparse);
      const auto model = make_model(options, 12, classes);
      const std::vector<double> x(model->dim(), 0.1);
      std::vector<double> sum(model->dim());
      const std::vector<float> narrow_x(x.begin(), x.end());
      std::vector<float> narrow_sum(model->dim());
      Workspace workspace;
      const auto run = [&] {
        for (const std::size_t b : {150, 1, 20, 0}) {
          const BatchRequest batch{data, 0, std::span(rows).first(b), &clip};
          model->gradient_sum(x, batch, sum, workspace);
          model->gradient_sum_in_float(narrow_x, batch, narrow_sum, workspace);
        }
      };
      run();
      const auto before = allocations.load();
      run();
      EXPECT_EQ(allocations.load(), before) << options.name << (sparse ? ", sparse" : ", dense");
    }
}

TEST(EpsilonCurve, DoesNotRememberACompositionThatRanOutOfMemory) {
  const PrivacyEvent event{.sampler = Sampler::fixed,
                           .adjacency = Adjacency::replace,
                           .records = 3256,
                           .batch = 1,
                           .noise_multiplier = 2,
                           .steps = 10'000};
  const EpsilonCurve curve(event, 1e-4), other(event, 1e-4);
  most_bytes = 1024;
  EXPECT_THROW(curve.upper(100), std::bad_alloc);
  most_bytes = SIZE_MAX;
  EXPECT_EQ(curve.upper(100), other.upper(100));
}

TEST(Inputs, OfSparseDataTakeMemoryForTheirEntries) {
  Dataset data;
  data.features = 1'000'000;
  data.row_starts = {0};
  for (std::uint32_t row = 0; row < kMaxRows; ++row) {
    for (const std::uint32_t column : {row, 999'000 + row}) {
      data.columns.push_back(column);
      data.values.push_back(1);
    }
    data.labels.push_back(0);
    data.row_starts.push_back(data.values.size());
  }
  Inputs<double> inputs;
  most_bytes = 100'000;
  EXPECT_NO_THROW(inputs.assign(data, kMaxRows, [](std::size_t i) { return i; }));
  most_bytes = SIZE_MAX;
  EXPECT_EQ(inputs.rows(), kMaxRows);
  EXPECT_EQ(inputs.squared_norm(7), 2);
}

}  // namespace
}  // namespace porter
