// SPDX-License-Identifier: Apache-2.0
#include "porter/algo/mix_rows.hpp"

#include <cassert>
#include <cstring>

#include "porter/core/vectors.hpp"

namespace porter {
namespace {

// A block of a receiver's sum stays in registers while the senders pass by; a chunk of all senders'
// rows stays in the first-level cache while the receivers pass by.
constexpr std::size_t kRegisters = 8, kChunkBytes = 1024;

template <class Real>
struct Wide {
  typedef Real Vector __attribute__((vector_size(64)));
  static constexpr std::size_t kLanes = 64 / sizeof(Real), kBlock = kRegisters * kLanes;
};

template <class Real>
PORTER_INLINE inline void sum_block(std::span<const MixingWeight> senders, const Real* q,
                                    std::size_t stride, Real* out) {
  using Vector = typename Wide<Real>::Vector;
  Vector sums[kRegisters] = {};
  for (const auto& [sender, weight] : senders) {
    const Real* row = q + sender * stride;
    const auto w = static_cast<Real>(weight);
    for (std::size_t r = 0; r < kRegisters; ++r) {
      Vector values;
      std::memcpy(&values, row + r * Wide<Real>::kLanes, sizeof values);
      sums[r] += w * values;
    }
  }
  std::memcpy(out, sums, sizeof sums);
}

template <class Real>
PORTER_INLINE inline void sum_rest(std::span<const MixingWeight> senders, const Real* q,
                                   std::size_t stride, std::size_t size, Real* out) {
  for (std::size_t j = 0; j < size; ++j) {
    Real sum = 0;
    for (const auto& [sender, weight] : senders)
      sum += static_cast<Real>(weight) * q[sender * stride + j];
    out[j] = sum;
  }
}

}  // namespace

template <class Real>
void mix_rows(std::span<const std::vector<MixingWeight>> incoming, const BasicRows<Real>& Q,
              std::size_t first, std::size_t size, std::span<Real> out) {
  assert(first + size <= Q.dim() && out.size() == incoming.size() * size);
  constexpr std::size_t kBlock = Wide<Real>::kBlock, kChunk = kChunkBytes / sizeof(Real);
  const Real* q = Q.row(0).data() + first;
  Real* to = out.data();
  with_vectors([=, stride = Q.stride()]<std::size_t>() PORTER_INLINE {
    for (std::size_t chunk = 0; chunk < size; chunk += kChunk) {
      const std::size_t end = std::min(size, chunk + kChunk);
      for (std::size_t i = 0; i < incoming.size(); ++i) {
        const std::span<const MixingWeight> senders = incoming[i];
        std::size_t j = chunk;
        for (; j + kBlock <= end; j += kBlock) sum_block(senders, q + j, stride, to + i * size + j);
        sum_rest(senders, q + j, stride, end - j, to + i * size + j);
      }
    }
  });
}

template void mix_rows(std::span<const std::vector<MixingWeight>>, const BasicRows<double>&,
                       std::size_t, std::size_t, std::span<double>);
template void mix_rows(std::span<const std::vector<MixingWeight>>, const BasicRows<float>&,
                       std::size_t, std::size_t, std::span<float>);

}  // namespace porter
