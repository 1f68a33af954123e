// SPDX-License-Identifier: Apache-2.0
#include "cut_ahead.hpp"

#include <cmath>

#include "core/sampling.hpp"
#include "core/small_subsets.hpp"
#include "core/vector_math.hpp"

namespace porter {
namespace {

template <class Real>
void add_piece(Real weight, const TileMessages::Piece& piece, Real* __restrict out) {
  const auto* __restrict const values = piece.values;
  const auto* __restrict const positions = piece.positions;
  for (std::size_t i = 0; i < piece.size; ++i) out[positions[i]] += weight * Real{values[i]};
}

}  // namespace

template <class Real>
bool CutAhead<Real>::suits(const AlgorithmSetup& setup, const Team& team,
                           const Surrogates<Real>& surrogates) {
  constexpr std::size_t kPerThread = 4;  // an agent is a piece of work
  const auto kept = setup.compressor.plain_subset(setup.start.size());
  return surrogates.streams() && !setup.exchange && !team.changing && setup.gossip == 1 &&
         setup.mask != Mask::sweep && kept && *kept > kSmallSubset &&
         team.hosted.size() >= kPerThread * team.pool.threads();
}

template <class Real>
CutAhead<Real>::CutAhead(const AlgorithmSetup& setup, const Team& team, MessageLink& link,
                         Surrogates<Real>& surrogates)
    : team_(team),
      link_(link),
      surrogates_(surrogates),
      dim_(setup.start.size()),
      kept_(*setup.compressor.plain_subset(dim_)),
      channels_(link.channels()),
      now_(team.agents, channels_, dim_, kept_),
      next_(team.agents, channels_, dim_, kept_),
      taken_(team.agents * channels_ * kept_),
      norms_(team.agents * channels_) {
  for (std::size_t c = 0; c < channels_; ++c)
    for (const auto agent : team.hosted) link.message(c, agent).bytes = sealed_bytes(kept_);
}

template <class Real>
bool CutAhead<Real>::start() {
  const bool here = pending_;
  if (here) published();
  pending_ = false;
  // Gaps that are built anew are sums of rows of Q, which nobody may move meanwhile.
  cuts_ = !surrogates_.rebuilds();
  return here;
}

template <class Real>
void CutAhead<Real>::published() {
  check();
  std::swap(now_, next_);
}

template <class Real>
void CutAhead<Real>::draw(Scratch& scratch, std::size_t agent, std::uint32_t step) const {
  scratch.positions.resize(channels_);
  scratch.cut.assign(channels_, 0);
  for (std::size_t c = 0; c < channels_; ++c) {
    auto stream = link_.stream(c, agent, step);
    choose(kept_, dim_, stream, scratch.positions[c]);
  }
}

template <class Real>
void CutAhead<Real>::publish(std::size_t agent, States states) {
  const auto scratch = scratch_.take();
  draw(*scratch, agent, link_.step());
  Cutter cutter(*this, agent, *scratch);
  std::vector<std::span<const Real>> parts(channels_);
  for (std::size_t first = 0; first < dim_; first += kTileSize) {
    const Tile tile{agent, first, std::min(kTileSize, dim_ - first)};
    for (std::size_t c = 0; c < channels_; ++c) parts[c] = tile.of(states[c]);
    cutter.cut(tile, parts);
  }
  measure(*scratch, agent);
}

template <class Real>
std::span<const Real> CutAhead<Real>::gap(std::size_t channel, const Tile& tile,
                                          Scratch& scratch) {
  if (surrogates_.rebuilds()) return surrogates_.rebuilt_gap(channel, tile);
  const auto stored = tile.of(surrogates_.gaps(channel).row(tile.agent));
  const auto near = std::span(scratch.gaps).subspan(channel * kTileSize, tile.size);
  scaled_copy(Real{1}, std::span<const Real>(stored), near);
  for (const auto& [sender, weight] : link_.incoming(tile.agent))
    add_piece(static_cast<Real>(weight), now_.piece(sender, tile.first / kTileSize, channel),
              near.data());
  scaled_copy(Real{1}, std::span<const Real>(near), stored);
  return near;
}

template <class Real>
std::span<const float> CutAhead<Real>::values_of(std::size_t channel, std::size_t agent,
                                                 std::vector<float>& values) const {
  values.clear();
  for (std::size_t tile = 0; tile < next_.tiles(); ++tile) {
    const auto piece = next_.piece(agent, tile, channel);
    values.insert(values.end(), piece.values, piece.values + piece.size);
  }
  return values;
}

template <class Real>
void CutAhead<Real>::measure(Scratch& scratch, std::size_t agent) {
  for (std::size_t c = 0; c < channels_; ++c)
    norms_[agent * channels_ + c] = std::sqrt(squared_norm(values_of(c, agent, scratch.values)));
}

// The agents' messages in this order, so that the error is that of a step that encodes them.
template <class Real>
void CutAhead<Real>::check() const {
  Decoded message;
  for (const auto agent : team_.hosted)
    for (std::size_t c = 0; c < channels_; ++c) {
      if (norms_[agent * channels_ + c] <= link_.bound(c)) continue;
      auto stream = link_.stream(c, agent, link_.step());
      choose(kept_, dim_, stream, message.indices);
      values_of(c, agent, message.values);
      count_sealed(dim_, message);  // are they finite?
      check_sent(message, link_.bound(c), agent, link_.step());
    }
}

template <class Real>
bool CutAhead<Real>::take_back() {
  if (!std::exchange(pending_, false)) return false;
  team_.for_each([&](std::size_t agent) {
    const Real* before = taken_.data() + agent * next_.entries();
    for (std::size_t tile = 0; tile < next_.tiles(); ++tile)
      for (std::size_t c = 0; c < channels_; ++c) {
        const auto piece = next_.piece(agent, tile, c);
        const auto q = surrogates_.rows(c).row(agent).subspan(tile * kTileSize);
        for (std::size_t i = 0; i < piece.size; ++i) q[piece.positions[i]] = *before++;
      }
  });
  return true;
}

template class CutAhead<double>;
template class CutAhead<float>;

}  // namespace porter
