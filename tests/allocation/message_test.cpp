// SPDX-License-Identifier: Apache-2.0
// A program of its own, as it counts every allocation.
#include "porter/algo/message.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocations = 0;

void* counted(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

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

}  // namespace
}  // namespace porter
