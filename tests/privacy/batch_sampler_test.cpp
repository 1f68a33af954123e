// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "privacy/draw_batch.hpp"

namespace porter {
namespace {

// Always the same number.
struct Constant {
  double value;
  double uniform() const { return value; }
  void fill_words(std::span<std::uint32_t>) const {}
};

// The accountant counts with b / m, so the chance must not be larger: of the 2^53 numbers that
// uniform() may give, the first floor(2^53 b / m) take a record.
TEST(BatchSampler, PoissonTakesARecordWithNoMoreThanItsRate) {
  for (const std::size_t records : {2, 3, 7, 3256, 60'000})
    for (const std::size_t batch : {std::size_t{1}, records / 2, records - 1}) {
      SCOPED_TRACE(testing::Message() << batch << " of " << records);
      const BatchSampler sampler(Sampler::poisson, records, batch);
      const double rate = static_cast<double>(batch) / static_cast<double>(records);
      const double taking = std::floor(rate * 0x1p53);
      const auto taken = [&](double number) {
        Constant stream{number * 0x1p-53};
        std::vector<std::uint32_t> out;
        sampler.draw(stream, out);
        return out.size();
      };
      EXPECT_EQ(taken(0), records);
      EXPECT_EQ(taken(taking - 1), records);
      EXPECT_EQ(taken(taking), 0U);
      EXPECT_EQ(taken(0x1p53 - 1), 0U);
    }
}

}  // namespace
}  // namespace porter
