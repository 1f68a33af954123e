// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_link.hpp"
#include "mix.hpp"

namespace porter::cuda {

/// The gaps (W - I)^T Q of a step, as Surrogates has them.
template <class Real>
struct GapView {
  static constexpr std::uint32_t kTile = kTileSize;

  enum class Kind {
    summed,   ///< from the rows of Q
    stored,   ///< kept, and moved by messages
    rebuilt,  ///< kept, and this time summed from Q in double
  };
  Kind kind;
  Mail mail;  ///< without channels there are no gaps
  Incoming in;
  std::uint32_t stride;
  const Real* Q[2];
  Real* R[2];  ///< those that are kept

  /// gap[channel * kTile + j] for the coordinates first + j of a tile; senders in ascending order.
  PORTER_DEVICE void load(const Block& block, std::size_t agent, std::uint32_t first,
                          std::uint32_t size, Real* gap) const {
    const bool scatters = kind == Kind::stored && mail.positions;
    block.each(mail.channels * size, [&](std::uint32_t i) {
      const std::uint32_t c = i / size, j = i % size;
      const std::size_t at = agent * stride + first + j;
      gap[c * kTile + j] = scatters ? R[c][at] : summed(c, agent, first + j);
      if (kind != Kind::summed && !scatters) R[c][at] = gap[c * kTile + j];
    });
    if (!scatters) return;
    for (std::uint32_t e = in.starts[agent]; e < in.starts[agent + 1]; ++e)
      for (std::uint32_t c = 0; c < mail.channels; ++c)
        add_message(block, e, c, first, gap + c * kTile);
    block.each(mail.channels * size, [&](std::uint32_t i) {
      const std::uint32_t c = i / size, j = i % size;
      R[c][agent * stride + first + j] = gap[c * kTile + j];
    });
  }

 private:
  PORTER_DEVICE void add_message(const Block& block, std::uint32_t edge, std::uint32_t channel,
                                 std::uint32_t first, Real* gap) const {
    const auto weight = static_cast<Real>(in.weights[edge]);
    const std::size_t number = mail.number(in.senders[edge], channel);
    const auto* starts = mail.starts_of(number) + block.y;
    const auto* positions = mail.positions_of(number) + starts[0];
    const auto* values = mail.values_of(number) + starts[0];
    block.each(starts[1] - starts[0],
               [&](std::uint32_t i) { gap[positions[i] - first] += weight * Real{values[i]}; });
  }

  PORTER_DEVICE Real summed(std::uint32_t c, std::size_t agent, std::uint32_t j) const {
    const std::uint32_t begin = in.starts[agent], end = in.starts[agent + 1];
    if (kind == Kind::rebuilt) {
      double sum = 0;
      for (std::uint32_t e = begin; e < end; ++e)
        sum += in.weights[e] * double{Q[c][std::size_t{in.senders[e]} * stride + j]};
      return static_cast<Real>(1.0 * sum);
    }
    const bool stored = kind == Kind::stored;  // messages hold all entries
    Real sum = stored ? R[c][agent * stride + j] : Real{0};
    for (std::uint32_t e = begin; e < end; ++e) {
      const std::uint32_t sender = in.senders[e];
      const Real term = stored ? Real{mail.values_of(mail.number(sender, c))[j]}
                               : Q[c][std::size_t{sender} * stride + j];
      sum += static_cast<Real>(in.weights[e]) * term;
    }
    return sum;
  }
};

/// What GradientEstimator::release hands out: scaled, noised, and, with momentum, low-passed.
template <class Real>
struct Release {
  Gradient<Real> gradient;  ///< of kind none: a further gossip step, which has none
  std::uint64_t seed;
  std::uint32_t round;
  double sigma, momentum;
  Real* M;  ///< the low-pass; null without momentum

  PORTER_DEVICE bool is_due() const { return gradient.kind != Gradient<Real>::Kind::none; }
  PORTER_DEVICE NoiseQuad noise(std::uint32_t agent, std::uint32_t quad) const {
    return is_due() && sigma != 0 ? noise_quad(seed, agent, round, quad) : NoiseQuad{};
  }
  PORTER_DEVICE Real at(std::size_t agent, std::uint32_t j, std::size_t place, float noise) const {
    Real g = gradient.at(agent, j);
    if (sigma != 0) g += static_cast<Real>(sigma) * Real{noise};
    if (M) {
      g = static_cast<Real>((1 - momentum) * double{M[place]} + momentum * double{g});
      M[place] = g;
    }
    return g;
  }
};

/// Block (agent, tile): rule(place, gaps, g) at every coordinate, where gaps[c * kTile] is that of
/// channel c, and g the released gradient.
template <class Real, class Rule>
struct RuleKernel {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kTile = kTileSize;
  static std::size_t bytes(std::uint32_t channels) { return channels * kTile * sizeof(Real); }

  GapView<Real> gaps;
  Release<Real> release;
  Rule rule;
  std::uint32_t dim, stride;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::size_t agent = block.x;
    const std::uint32_t first = block.y * kTile;
    const std::uint32_t size = dim - first < kTile ? dim - first : kTile;
    Real* const gap = block.memory_as<Real>();
    gaps.load(block, agent, first, size, gap);
    // Four numbers of noise at a time; a quad that ends behind the tile is cut.
    block.each((size + 63) / 64 * 16, [&](std::uint32_t q) {
      const std::uint32_t low = q / 16 * 64 + q % 16 * 2;
      const auto noise = release.noise(block.x, first / 64 * 16 + q);
      for (std::uint32_t n = 0; n < 4; ++n) {
        const std::uint32_t offset = low + n % 2 + n / 2 * 32;
        if (offset >= size) continue;
        const std::size_t place = agent * stride + first + offset;
        const Real g =
            release.is_due() ? release.at(agent, first + offset, place, noise.at[n]) : Real{0};
        rule(place, gap + offset, g);
      }
    });
  }
};

}  // namespace porter::cuda
