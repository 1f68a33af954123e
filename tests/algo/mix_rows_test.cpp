// SPDX-License-Identifier: Apache-2.0
#include "algo/mix_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "special_values.hpp"

namespace porter {
namespace {

template <class Real>
std::vector<Real> plain_loops(std::span<const std::vector<MixingWeight>> incoming,
                              const BasicRows<Real>& Q, std::size_t first, std::size_t size) {
  std::vector<Real> out;
  for (const auto& senders : incoming)
    for (std::size_t j = first; j < first + size; ++j) {
      Real sum = 0;
      for (const auto& [sender, weight] : senders)
        sum += static_cast<Real>(weight) * Q.row(sender)[j];
      out.push_back(sum);
    }
  return out;
}

template <class Real>
std::vector<const Real*> rows_of(const BasicRows<Real>& Q) {
  std::vector<const Real*> rows;
  for (std::size_t i = 0; i < Q.agents(); ++i) rows.push_back(Q.row(i).data());
  return rows;
}

template <class Real>
void compare_on_every_target() {
  RngStream rng(1, Draw::test, 0, 0);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t agents = 1 + rng.below(12), dim = 1 + rng.below(700);
    const std::size_t line = whole_lines<Real>(1), first = rng.below(dim) / line * line;
    const std::size_t size = 1 + rng.below(dim - first), row = whole_lines<Real>(size);
    BasicRows<Real> Q(agents, dim);
    for (std::size_t i = 0; i < agents; ++i)
      for (auto& value : Q.row(i)) value = static_cast<Real>(rng.uniform() - 0.5);
    std::vector<std::vector<MixingWeight>> incoming(agents);
    for (auto& senders : incoming)
      for (std::uint32_t s = 0; s < agents; ++s)
        if (rng.below(3) != 0) senders.push_back({s, rng.uniform()});
    const auto expected = plain_loops<Real>(incoming, Q, first, size);
    for_every_simd_target([&](const auto&) {
      std::vector<Real> out(agents * row);
      mix_rows<Real>(incoming, rows_of(Q), first, size, out);
      for (std::size_t k = 0; k < expected.size(); ++k)
        ASSERT_EQ(out[k / size * row + k % size], expected[k])
            << agents << " agents, " << size << " of " << dim;
    });
  }
}

TEST(MixRows, GivesTheBitsOfPlainLoopsOnEveryTarget) {
  compare_on_every_target<double>();
  compare_on_every_target<float>();
}

template <class Real>
void compare_special_values() {
  for_every_special_value<Real>([](const std::vector<Real>& x) {
    if (x.empty()) return;
    BasicRows<Real> Q(2, x.size());
    std::ranges::copy(ordinary_values<Real>(x.size(), 1), Q.row(0).begin());
    std::ranges::copy(x, Q.row(1).begin());
    const std::vector<std::vector<MixingWeight>> incoming = {{{0, 0.3}, {1, 0.7}}, {{1, 1.0}}};
    const auto row = whole_lines<Real>(x.size());
    std::vector<Real> out(2 * row), found;
    mix_rows<Real>(incoming, rows_of(Q), 0, x.size(), out);
    for (std::size_t i = 0; i < 2; ++i)
      found.insert(found.end(), &out[i * row], &out[i * row] + x.size());
    expect_same(found, plain_loops<Real>(incoming, Q, 0, x.size()), "mix_rows");
  });
}

TEST(MixRows, TakesSpecialValuesAsPlainLoopsDo) {
  compare_special_values<double>();
  compare_special_values<float>();
}

}  // namespace
}  // namespace porter
