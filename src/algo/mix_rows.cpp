// SPDX-License-Identifier: Apache-2.0
#include "mix_rows.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "core/vectors.hpp"

namespace porter {
namespace {

// A chunk of all senders' rows stays in the first-level cache while the receivers pass by.
constexpr std::size_t kChunkBytes = 1024;

// Entries in a register.
template <std::size_t lanes, class Real>
constexpr std::size_t kSize = lanes * sizeof(double) / sizeof(Real);

// One value at a time: eight of them beside eight sums are more than there are registers with AVX2.
template <class Real, class Vector>
PORTER_INLINE inline void add_product(Real weight, const Real* values, Vector& sum) {
  Vector value;
  std::memcpy(&value, values, sizeof(Vector));
  sum += weight * value;
}

// The sum stays in registers while the senders pass by: what is done to each register is written
// out, or the compiler would keep them in memory.
template <std::size_t lanes, class Real, std::size_t... r>
PORTER_INLINE inline void sum_block(std::index_sequence<r...>,
                                    std::span<const MixingWeight> senders, const Real* const* Q,
                                    std::size_t first, Real* out, const Real* const* next,
                                    std::size_t next_first) {
  using Vector = Register<Real, kSize<lanes, Real>>;
  Vector sums[sizeof...(r)];
  ((sums[r] = Vector{}), ...);
  for (const auto& [sender, weight] : senders) {
    const Real* row = Q[sender] + first;
    const auto w = static_cast<Real>(weight);
    if (next != nullptr)
      (__builtin_prefetch(next[sender] + next_first + r * kSize<lanes, Real>, 0, 2), ...);
    (add_product(w, row + r * kSize<lanes, Real>, sums[r]), ...);
  }
  (std::memcpy(out + r * kSize<lanes, Real>, &sums[r], sizeof(Vector)), ...);
}

// Eight registers at once, then a line at once.
template <std::size_t lanes, class Real>
PORTER_INLINE inline void sum_chunk(std::span<const MixingWeight> senders, const Real* const* Q,
                                    std::size_t first, std::size_t size, Real* out,
                                    const Real* const* next, std::size_t next_first) {
  constexpr std::size_t kLine = kLineBytes / sizeof(Real), kPerLine = kLine / kSize<lanes, Real>;
  constexpr std::size_t kBlock = 8 * kSize<lanes, Real>;
  std::size_t j = 0;
  for (; j + kBlock <= size; j += kBlock)
    sum_block<lanes>(std::make_index_sequence<8>(), senders, Q, first + j, out + j, next,
                     next_first + j);
  for (; j < size; j += kLine)
    sum_block<lanes>(std::make_index_sequence<kPerLine>(), senders, Q, first + j, out + j, next,
                     next_first + j);
}

}  // namespace

template <class Real>
void mix_rows(std::span<const std::vector<MixingWeight>> incoming, std::span<const Real* const> Q,
              std::size_t first, std::size_t size, std::span<Real> out, const Ahead<Real>& ahead) {
  constexpr std::size_t kChunk = kChunkBytes / sizeof(Real);
  const std::size_t row = whole_lines<Real>(size);
  assert(first % whole_lines<Real>(1) == 0);
  assert(out.size() == incoming.size() * row);
  Real* to = out.data();
  const auto* const next = ahead.Q.empty() ? nullptr : ahead.Q.data();
  const std::size_t next_first = ahead.first;
  with_vectors([=]<Width lanes>() PORTER_INLINE {
    for (std::size_t j = 0; j < row; j += kChunk)
      for (std::size_t i = 0; i < incoming.size(); ++i)
        sum_chunk<lanes, Real>(incoming[i], Q.data(), first + j, std::min(kChunk, row - j),
                               to + i * row + j, i == 0 ? next : nullptr, next_first + j);
  });
}

template void mix_rows(std::span<const std::vector<MixingWeight>>, std::span<const double* const>,
                       std::size_t, std::size_t, std::span<double>, const Ahead<double>&);
template void mix_rows(std::span<const std::vector<MixingWeight>>, std::span<const float* const>,
                       std::size_t, std::size_t, std::span<float>, const Ahead<float>&);

}  // namespace porter
