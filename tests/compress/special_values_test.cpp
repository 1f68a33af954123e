// SPDX-License-Identifier: Apache-2.0
// Kernels of the compressors against plain loops, with NaN, infinities and signed zeros at every
// place.
#include "special_values.hpp"

#include <algorithm>
#include <map>

#include "compress/floats.hpp"
#include "compress/largest.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

bool finite(const std::vector<float>& x) {
  return std::ranges::all_of(x, [](float value) { return std::isfinite(value); });
}

// The order that floats.hpp promises.
template <class Term>
double sixteen_sums(const std::vector<float>& x, Term term) {
  double s[16] = {};
  for (std::size_t i = 0; i < x.size(); ++i) s[i % 16] += term(double{x[i]});
  for (const std::size_t half : {8, 4, 2, 1})
    for (std::size_t j = 0; j < half; ++j) s[j] += s[j + half];
  return s[0];
}

TEST(CompressSpecialValues, SumsDifferencesAndChecksAreThoseOfPlainLoops) {
  for_every_special_value<float>([](const std::vector<float>& x) {
    expect_same(sum_of_squares(x), sixteen_sums(x, [](double v) { return v * v; }), "squares");
    expect_same(sum_of_magnitudes(x), sixteen_sums(x, [](double v) { return std::abs(v); }),
                "magnitudes");
    const auto bad = std::ranges::find_if(x, [](float v) { return !std::isfinite(v); });
    ASSERT_EQ(first_not_finite(x), static_cast<std::size_t>(bad - x.begin()));
    const auto y = ordinary_values<float>(x.size(), 1);
    std::vector<float> found(x.size()), expected(x.size());
    subtract(std::span<const float>(x), std::span<const float>(y), found);
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] = x[i] - y[i];
    expect_same(found, expected, "subtract");
  });
  for_every_special_value<double>([](const std::vector<double>& x) {
    const auto y = ordinary_values<double>(x.size(), 1);
    std::vector<float> found(x.size()), expected(x.size());
    subtract(std::span<const double>(x), std::span<const double>(y), found);
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] = static_cast<float>(x[i] - y[i]);
    expect_same(found, expected, "subtract");
  });
}

TEST(CompressSpecialValues, TheLargestAreThoseOfAStableSort) {
  for_every_special_value<float>([](const std::vector<float>& x) {
    if (x.empty() || !finite(x)) return;
    std::vector<std::uint32_t> order(x.size()), positions;
    for (std::uint32_t i = 0; i < x.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order,
                             [&](auto a, auto b) { return std::abs(x[a]) > std::abs(x[b]); });
    for (const std::size_t k : {std::size_t{1}, x.size() / 2 + 1, x.size()}) {
      std::vector<std::uint32_t> expected(order.begin(), order.begin() + static_cast<long>(k));
      std::ranges::sort(expected);
      auto kept = x;
      keep_largest(k, kept, positions);
      ASSERT_EQ(positions, expected) << k;
      for (std::size_t i = 0; i < k; ++i) expect_same(kept[i], x[expected[i]], "kept");
    }
  });
}

// What is not finite is refused and named, never sent; the rest travels as on the plain set.
TEST(CompressSpecialValues, EveryCompressorRefusesWhatIsNotFiniteAndDecodesTheRestAlike) {
  const RngStream rng(1, Draw::compress_x, 2, 3);
  for (const auto& info : compressor_table()) {
    SCOPED_TRACE(info.example);
    const auto compressor = make_compressor(info.example);
    std::map<std::vector<std::uint32_t>, Payload> payloads;  // of the first instruction set
    for_every_special_value<float>([&](const std::vector<float>& x) {
      if (x.empty()) return;
      Payload payload;
      if (!finite(x)) {
        ASSERT_THROW(compressor->encode(x, rng, payload), Error);
        return;
      }
      const std::vector<float> zero(x.size(), 0.0F);
      Decoded sent, received;
      compressor->encode(x, rng, payload);
      std::vector<std::uint32_t> bits;
      for (const float value : x) bits.push_back(std::bit_cast<std::uint32_t>(value));
      ASSERT_EQ(payloads.try_emplace(bits, payload).first->second, payload);
      Payload again;
      compressor->encode_difference(x, zero, rng, again, sent);
      compressor->decode(again, x.size(), rng, received);
      ASSERT_EQ(sent.indices, received.indices);
      expect_same(sent.values, received.values, "decoded");
    });
  }
}

}  // namespace
}  // namespace porter
