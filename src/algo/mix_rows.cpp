// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/mix_rows.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "porter/core/vectors.hpp"

namespace porter {
namespace {

// A chunk of all senders' rows stays in the first-level cache while the receivers pass by.
constexpr std::size_t kChunkLines = 16;

template <class Real>
struct Line {
  typedef Real Vector __attribute__((vector_size(kLineBytes)));
  static constexpr std::size_t kSize = kLineBytes / sizeof(Real);
};

// The sum stays in registers while the senders pass by.
template <std::size_t lines, class Real>
PORTER_INLINE inline void sum_lines(std::span<const MixingWeight> senders, const Real* q,
                                    std::size_t stride, Real* out) {
  typename Line<Real>::Vector sums[lines] = {};
  for (const auto& [sender, weight] : senders) {
    const Real* row = q + sender * stride;
    const auto w = static_cast<Real>(weight);
    for (std::size_t r = 0; r < lines; ++r) {
      typename Line<Real>::Vector values;
      std::memcpy(&values, row + r * Line<Real>::kSize, sizeof values);
      sums[r] += w * values;
    }
  }
  std::memcpy(out, sums, sizeof sums);
}

template <class Real>
PORTER_INLINE inline void sum_chunk(std::span<const MixingWeight> senders, const Real* q,
                                    std::size_t stride, std::size_t lines, Real* out) {
  constexpr std::size_t kSize = Line<Real>::kSize;
  std::size_t r = 0;
  for (; r + 8 <= lines; r += 8) sum_lines<8>(senders, q + r * kSize, stride, out + r * kSize);
  for (; r + 4 <= lines; r += 4) sum_lines<4>(senders, q + r * kSize, stride, out + r * kSize);
  for (; r < lines; ++r) sum_lines<1>(senders, q + r * kSize, stride, out + r * kSize);
}

}  // namespace

template <class Real>
void mix_rows(std::span<const std::vector<MixingWeight>> incoming, const BasicRows<Real>& Q,
              std::size_t first, std::size_t size, std::span<Real> out) {
  constexpr std::size_t kSize = Line<Real>::kSize;
  const std::size_t lines = whole_lines<Real>(size) / kSize;
  assert(first % kSize == 0 && first + size <= Q.dim());
  assert(out.size() == incoming.size() * lines * kSize);
  const Real* q = Q.row(0).data() + first;
  Real* to = out.data();
  with_vectors([=, stride = Q.stride()]<std::size_t>() PORTER_INLINE {
    for (std::size_t chunk = 0; chunk < lines; chunk += kChunkLines)
      for (std::size_t i = 0; i < incoming.size(); ++i)
        sum_chunk<Real>(incoming[i], q + chunk * kSize, stride,
                        std::min(kChunkLines, lines - chunk), to + (i * lines + chunk) * kSize);
  });
}

template void mix_rows(std::span<const std::vector<MixingWeight>>, const BasicRows<double>&,
                       std::size_t, std::size_t, std::span<double>);
template void mix_rows(std::span<const std::vector<MixingWeight>>, const BasicRows<float>&,
                       std::size_t, std::size_t, std::span<float>);

}  // namespace porter
