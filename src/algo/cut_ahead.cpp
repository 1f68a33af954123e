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

// Positions, and with them the sizes of all pieces.
template <class Real>
void CutAhead<Real>::draw(Scratch& scratch, std::size_t agent, std::uint32_t step) {
  scratch.cuts.resize(channels_);
  for (std::size_t c = 0; c < channels_; ++c) {
    auto stream = link_.stream(c, agent, step);
    choose(kept_, dim_, stream, scratch.cuts[c].positions);
    scratch.cuts[c].done = scratch.cuts[c].fetched = 0;
  }
  TileMessages::Sizes sizes(next_, agent);
  for (std::size_t end = kTileSize; end < dim_ + kTileSize; end += kTileSize)
    for (auto& [positions, done, fetched, number] : scratch.cuts) {
      const auto from = positions.begin() + static_cast<std::ptrdiff_t>(done);
      const auto size = std::lower_bound(from, positions.end(), end) - from;
      sizes.add(static_cast<std::size_t>(size));
      done += static_cast<std::size_t>(size);
    }
  for (auto& cut : scratch.cuts) cut.done = 0;
}

template <class Real>
void CutAhead<Real>::publish(std::size_t agent, States states) {
  const auto scratch = scratch_.take();
  draw(*scratch, agent, link_.step());
  std::vector<std::span<const Real>> parts(channels_);
  for (std::size_t first = 0; first < dim_; first += kTileSize) {
    const Tile tile{agent, first, std::min(kTileSize, dim_ - first)};
    for (std::size_t c = 0; c < channels_; ++c) parts[c] = tile.of(states[c]);
    cut(tile, parts, *scratch);
  }
  measure(*scratch, agent);
}

template <class Real>
void CutAhead<Real>::cut(const Tile& part, States states, Scratch& scratch) {
  const std::size_t tile = part.first / kTileSize, first = tile * kTileSize;
  for (std::size_t c = 0; c < channels_; ++c) {
    auto& own = scratch.cuts[c];
    if (part.first == first) own.number = next_.first(part.agent, tile, c);
    const Real* const state = states[c].data();
    Real* const q = surrogates_.rows(c).row(part.agent).data();
    for (; own.done < kept_ && own.positions[own.done] < part.first + part.size; ++own.done) {
      const std::size_t j = own.positions[own.done];
      const Real before = q[j];
      const auto value = static_cast<float>(state[j - part.first] - before);
      taken_[own.number] = before;
      next_.set(own.number++, j - first, value);
      q[j] = before + Real{value};
    }
  }
}

template <class Real>
void CutAhead<Real>::move_gaps(const Tile& tile) {
  for (std::size_t c = 0; c < channels_; ++c) {
    if (surrogates_.rebuilds()) {
      surrogates_.rebuild_gap(c, tile);
      continue;
    }
    auto* const gap = tile.of(surrogates_.gaps(c).row(tile.agent)).data();
    for (const auto& [sender, weight] : link_.incoming(tile.agent))
      add_piece(static_cast<Real>(weight), now_.piece(sender, tile.first / kTileSize, c), gap);
  }
}

template <class Real>
void CutAhead<Real>::fetch(const Tile& part, Scratch& scratch) const {
  const auto ahead = fetched_with(part);
  if (ahead.size == 0) return;
  for (std::size_t c = 0; c < channels_; ++c) {
    prefetch(ahead.of(surrogates_.gaps(c).row(part.agent)));
    if (!cuts_) continue;
    auto& [positions, done, fetched, number] = scratch.cuts[c];
    const auto q = surrogates_.Q(c, part.agent);
    const std::size_t end = ahead.first + ahead.size;
    for (; fetched < positions.size() && positions[fetched] < end; ++fetched)
      prefetch(q.subspan(positions[fetched], 1));
  }
  const auto& incoming = link_.incoming(part.agent);
  const std::size_t turn = part.first % kTileSize / kPart, turns = kTileSize / kPart;
  for (std::size_t i = turn; i < incoming.size(); i += turns) {
    const auto heard = now_.whole(incoming[i].node, ahead.first / kTileSize);
    prefetch(std::span(heard.values, heard.size));
    prefetch(std::span(heard.positions, heard.size));
  }
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
