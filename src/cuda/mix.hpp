// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algo/porter_entry.hpp"
#include "core/normal_pair.hpp"
#include "messages.hpp"
#include "perceptron.hpp"

namespace porter::cuda {

/// G of an agent before the noise, wherever it comes from.
template <class Real>
struct Gradient {
  enum class Kind {
    none,     ///< a further gossip step of a round
    factors,  ///< of one sample
    wide,     ///< rows in double, to be rounded when they are scaled
    own,      ///< rows of the state's type
  };
  Kind kind;
  SampleKernel<Real> sample;
  const double* wide;
  const Real* own;
  const double* scales;
  std::uint32_t stride;

  PORTER_DEVICE Real at(std::size_t agent, std::uint32_t j) const {
    const double scale = scales[agent];
    if (scale == 0) return 0;  // what is left out may be NaN
    if (kind == Kind::factors) return static_cast<Real>(scale * sample.at(agent, j));
    if (kind == Kind::wide) return static_cast<Real>(scale * wide[agent * stride + j]);
    return static_cast<Real>(scale) * own[agent * stride + j];
  }
};

/// The numbers of block 16 g + q of a noise stream: 64 g + 2 q + {0, 1}, and 32 further on.
struct NoiseQuad {
  float at[4];
};
PORTER_DEVICE inline NoiseQuad noise_quad(std::uint64_t seed, std::uint32_t agent,
                                          std::uint32_t round, std::uint32_t block) {
  constexpr auto kUse = static_cast<std::uint32_t>(Draw::noise);
  const auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  const auto words = philox_words_of({block, round, agent, kUse}, {key0, key1});
  NormalPair pairs[2] = {plain_pair(words[0], words[1]), plain_pair(words[2], words[3])};
  if (words[0] < kRefineBelow || words[2] < kRefineBelow) {
    const auto more = philox_words_of({block | kRefinementBlock, round, agent, kUse}, {key0, key1});
    if (words[0] < kRefineBelow)
      pairs[0] = refined_pair(words[0], words[1], join_words(more[0], more[1]));
    if (words[2] < kRefineBelow)
      pairs[1] = refined_pair(words[2], words[3], join_words(more[2], more[3]));
  }
  return {{pairs[0].cosine, pairs[1].cosine, pairs[0].sine, pairs[1].sine}};
}

/// Block (agent, tile): the gaps of this step, the noise, and lines 12 and 14 of Algorithm 1.
template <class Real>
struct MixKernel {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kTile = 2048;
  static constexpr std::size_t kBytes = 2 * kTile * sizeof(Real);

  enum class Gaps {
    summed,   ///< from the rows of Q
    stored,   ///< kept, and moved by messages
    rebuilt,  ///< kept, and this time summed from Q in double
  };

  Gaps gaps;
  Messages messages;
  Gradient<Real> gradient;
  std::uint64_t seed;
  std::uint32_t round, dim, stride;
  Real gamma, eta;
  double sigma;
  Real *X, *U, *V;
  const Real* Q[2];
  Real* R[2];
  const std::uint32_t *in_starts, *in_senders;
  const double* in_weights;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x;
    const std::uint32_t first = block.y * kTile;
    const std::uint32_t size = dim - first < kTile ? dim - first : kTile;
    Real* const stored = block.memory_as<Real>();  // two channels
    const bool scatters = gaps == Gaps::stored && messages.positions;
    if (scatters) add_messages(block, agent, first, size, stored);
    // Four numbers of noise at a time; a quad that ends behind the tile is cut.
    const std::uint32_t quads = (size + 63) / 64 * 16;
    block.each(quads, [&](std::uint32_t q) {
      const std::uint32_t low = q / 16 * 64 + q % 16 * 2;
      NoiseQuad noise{};
      if (gradient.kind != Gradient<Real>::Kind::none && sigma != 0)
        noise = noise_quad(seed, block.x, round, first / 64 * 16 + q);
      for (std::uint32_t n = 0; n < 4; ++n) {
        const std::uint32_t offset = low + n % 2 + n / 2 * 32;
        if (offset >= size) continue;
        Real gap[2];
        for (std::uint32_t c = 0; c < 2; ++c) {
          gap[c] = scatters ? stored[c * kTile + offset] : computed_gap(c, agent, first + offset);
          if (gaps != Gaps::summed) R[c][agent * stride + first + offset] = gap[c];
        }
        update(agent, first + offset, gap, noise.at[n]);
      }
    });
  }

 private:
  // Senders in ascending order.
  PORTER_DEVICE void add_messages(const Block& block, std::size_t agent, std::uint32_t first,
                                  std::uint32_t size, Real* stored) const {
    block.each(2 * size, [&](std::uint32_t i) {
      const std::uint32_t c = i / size, j = i % size;
      stored[c * kTile + j] = R[c][agent * stride + first + j];
    });
    for (std::uint32_t e = in_starts[agent]; e < in_starts[agent + 1]; ++e) {
      const std::uint32_t sender = in_senders[e];
      const auto weight = static_cast<Real>(in_weights[e]);
      const auto* starts_v = messages.starts_of(sender, 0) + block.y;
      const auto* starts_x = messages.starts_of(sender, 1) + block.y;
      const std::uint32_t of_v = starts_v[1] - starts_v[0], of_x = starts_x[1] - starts_x[0];
      block.each(of_v + of_x, [&](std::uint32_t i) {
        const std::uint32_t c = i < of_v ? 0 : 1;
        const std::size_t at =
            messages.first(sender, c) + (c == 0 ? starts_v[0] + i : starts_x[0] + (i - of_v));
        stored[c * kTile + (messages.positions[at] - first)] += weight * Real{messages.values[at]};
      });
    }
  }

  PORTER_DEVICE Real computed_gap(std::uint32_t c, std::size_t agent, std::uint32_t j) const {
    const std::uint32_t begin = in_starts[agent], end = in_starts[agent + 1];
    if (gaps == Gaps::rebuilt) {
      double sum = 0;
      for (std::uint32_t e = begin; e < end; ++e)
        sum += in_weights[e] * double{Q[c][std::size_t{in_senders[e]} * stride + j]};
      return static_cast<Real>(1.0 * sum);
    }
    Real sum = gaps == Gaps::summed ? Real{0} : R[c][agent * stride + j];
    for (std::uint32_t e = begin; e < end; ++e) {
      const Real term = gaps == Gaps::summed
                            ? Q[c][std::size_t{in_senders[e]} * stride + j]
                            : Real{messages.values[messages.first(in_senders[e], c) + j]};
      sum += static_cast<Real>(in_weights[e]) * term;
    }
    return sum;
  }

  PORTER_DEVICE void update(std::size_t agent, std::uint32_t j, const Real (&gap)[2],
                            float noise) const {
    const std::size_t at = agent * stride + j;
    if (gradient.kind == Gradient<Real>::Kind::none) {
      U[at] += gamma * gap[0];
      V[at] += gamma * gap[0];
      X[at] += gamma * gap[1];
      return;
    }
    Real u = U[at], x = X[at], v = gradient.at(agent, j);
    if (sigma != 0) v += static_cast<Real>(sigma) * Real{noise};
    porter_entry(gamma, eta, gap[0], gap[1], u, v, x);
    U[at] = u;
    V[at] = v;
    X[at] = x;
  }
};

}  // namespace porter::cuda
