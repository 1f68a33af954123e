// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algo/porter_entry.hpp"
#include "heard.hpp"
#include "mix.hpp"

namespace porter::cuda {

/// How UpdateKernel comes by the gaps (W - I)^T Q.
enum class Gaps {
  summed,  ///< from the rows of Q
  stored,  ///< kept, and moved by messages
};

/// Lines 11 to 14 of Algorithm 1 behind the gradients, a tile of an agent at a time: the messages
/// of this gossip step move the gaps, senders in ascending order; noise, U, V and X follow; then,
/// with V and X at hand, the tile's part of the messages of the next step, and Q takes them. So V
/// need not be stored.
///
/// Bound by memory, so what a tile needs is on its way long before: its rows since the tile before
/// the last one, its messages since those of the last one were added, who is heard since three
/// tiles ago. A block's tiles are `blocks` apart in an order that has the same tile of all agents
/// side by side: their messages are read many times, and stay in the cache meanwhile.
template <class Real, std::uint32_t kQuads, Gaps kGaps>
struct UpdateKernel {
  static constexpr int kThreads = 256;
  /// More would have too few registers, and leave too little of the cache beside their memory.
  static constexpr int kBlocks = kGaps == Gaps::stored ? 2 : 4;
  static constexpr bool kStartsEarly = true;
  static constexpr std::uint32_t kTile = 4 * kThreads * kQuads;
  static constexpr std::uint32_t kWarps = kThreads / Block::kWarp;
  /// A warp has one channel of this many coordinates to itself where messages are concerned.
  static constexpr std::uint32_t kPart = kTile / (kWarps / 2);
  /// Senders whose messages are asked for ahead.
  static constexpr std::uint32_t kAhead = 10;
  static constexpr std::uint32_t kStages = kGaps == Gaps::stored ? 2 : 1, kRows = 4;
  /// Coordinates come in pairs; those of a thread.
  static constexpr std::uint32_t kPairs = 2 * kQuads;

  std::uint32_t agents, tiles, blocks, parts, dim, stride, kept;
  Heard now, next;
  bool cuts;      ///< the messages of the next step
  bool rebuilt;   ///< the gaps are what they shall be
  bool stores_v;  ///< else V is known to nobody
  std::uint32_t most_heard;
  Gradient<Real> gradient;
  std::uint64_t seed;
  std::uint32_t round;
  Real gamma, eta;
  double sigma;
  Real *X, *U, *V;
  const Real* Q[2];
  Real*
      Q_next[2];  ///< the same where gaps are stored, else other rows, which all others read later
  Real* R[2];
  const std::uint32_t *in_starts, *in_senders;
  const double* in_weights;

  /// Whose entries a warp adds to its part of a tile.
  struct Source {
    std::uint32_t begin, count;  ///< among all entries
    Real weight;
  };
  static constexpr std::size_t kRowBytes = kStages * kRows * kTile * sizeof(Real);
  static constexpr std::size_t kEntryBytes =
      kGaps == Gaps::stored ? kThreads * kAhead * sizeof(HeardEntry) : 0;
  static constexpr std::size_t kBytes =
      kRowBytes + kEntryBytes + kWarps * (kAhead + 1) * sizeof(Source);

  PORTER_DEVICE void operator()(const Block& block) const {
    block.let_next_start();
    State state(block);
    auto& places = state.places;
    places[0] = {block.x % agents, block.x / agents, true};
    for (std::uint32_t ahead = 1; ahead < kPlaces; ++ahead)
      places[ahead] = after(places[ahead - 1]);
    fetch(block, state, 0, places[0]);
    find_first(block, state);
    if constexpr (kStages > 1) fetch(block, state, 1, places[1]);
    PORTER_ROLLED
    for (std::uint32_t turn = 0;; ++turn) {
      prepare(block, state, turn);
      block.template arrive<kStages - 1>();
      if constexpr (kGaps == Gaps::stored) add_messages(block, state, turn);
      ask_for_entries(block, state, 1);
      move(block, state, turn);
      if (cuts && next.positions) cut_messages(block, state, turn);
      if (!places[1].there) break;
      fetch(block, state, turn + kStages, places[kStages]);
      for (std::uint32_t ahead = 1; ahead < kPlaces; ++ahead) places[ahead - 1] = places[ahead];
      places[kPlaces - 1] = after(places[kPlaces - 2]);
    }
  }

 private:
  static_assert(kTile <= 1U << 16);
  static constexpr std::uint32_t kPlaces = 5;

  /// What was loaded stays as it is until it is needed: the first use waits for it.
  struct Link {
    std::uint32_t begin = 0, end = 0;  // of an agent's senders
    std::uint32_t sender = 0;
    bool there = false;
    double weight = 0;
    std::uint32_t message = 0, starts[2] = {};
    double message_weight = 0;
  };
  /// What the agent itself sends next, from the entry of a lane on.
  struct Own {
    std::uint32_t first = 0, end = 0;  // among all entries
    std::uint32_t at = 0;              // in the tile
    Real q = 0;
    std::uint32_t next_first = 0, next_end = 0;  // of the next tile
    std::uint16_t next_low_half = 0;
  };
  struct Pairs {
    Pair<Real> at[kPairs];
  };
  /// A tile of an agent, and whether it is one.
  struct Place {
    std::uint32_t agent, tile;
    bool there;
    PORTER_DEVICE std::uint32_t first() const { return tile * kTile; }
  };
  PORTER_DEVICE Place after(const Place& place) const {
    Place then = {place.agent + blocks % agents, place.tile + blocks / agents, true};
    if (then.agent >= agents) {
      then.agent -= agents;
      ++then.tile;
    }
    then.there = then.tile < tiles;
    return then;
  }

  struct State {
    PORTER_DEVICE explicit State(const Block& block)
        : rows(block.memory_as<Real>()),
          heard(block.memory_as<HeardEntry>(kRowBytes)),
          sources(block.memory_as<Source>(kRowBytes + kEntryBytes)) {}
    Real* rows;         // stage, then gaps of V and X, U, X; V and X take the place of their gaps
    HeardEntry* heard;  // warp x sender x lane
    Source* sources;    // warp x sender
    Place places[kPlaces];  // of this turn and the next ones
    PerThread<Link, kThreads> links;
    PerThread<Own, kThreads> own;
    PerThread<Pairs, kThreads> released;  // noise, then G

    PORTER_DEVICE Source* sources_of(std::uint32_t t) const {
      return sources + t / Block::kWarp * (kAhead + 1);
    }
    PORTER_DEVICE HeardEntry* heard_by(std::uint32_t t, std::uint32_t e) const {
      return heard + (t / Block::kWarp * kAhead + e) * Block::kWarp + t % Block::kWarp;
    }
    PORTER_DEVICE Real* row(std::uint32_t turn, std::uint32_t which) const {
      return rows + (turn % kStages * kRows + which) * kTile;
    }
  };

  /// Where pair n of a thread begins: a block of noise has two pairs, 32 apart.
  PORTER_DEVICE static std::uint32_t pair_of(std::uint32_t t, std::uint32_t n) {
    return t / 16 * 64 + t % 16 * 2 + n / 2 * (4 * kThreads) + n % 2 * 32;
  }
  PORTER_DEVICE static Pair<Real>& pair_at(Real* row) {
    return *reinterpret_cast<Pair<Real>*>(row);
  }

  // The tile's rows are asked for.
  PORTER_DEVICE void fetch(const Block& block, const State& state, std::uint32_t turn,
                           const Place& place) const {
    if (place.there) {
      const std::uint32_t first = place.first();
      const std::size_t at = std::size_t{place.agent} * stride + first;
      const std::uint32_t size = stride - first < kTile ? stride - first : kTile;
      Real* const rows = state.row(turn, 0);
      const auto copy = [&](std::uint32_t which, const Real* from) {
        block.template copy_up_to<kThreads, kTile * sizeof(Real)>(
            rows + which * kTile, from + at, static_cast<std::uint32_t>(size * sizeof(Real)));
      };
      if constexpr (kGaps == Gaps::stored) {
        copy(0, R[0]);
        copy(1, R[1]);
      }
      copy(2, U);
      copy(3, X);
    }
    block.commit();
  }

  PORTER_DEVICE void next_row(const Place& place, Link& link) const {
    link.begin = link.end = 0;
    if (kGaps == Gaps::summed || !place.there) return;
    link.begin = in_starts[place.agent];
    link.end = in_starts[place.agent + 1];
  }
  PORTER_DEVICE void next_sender(const Place& place, std::uint32_t lane, Link& link) const {
    link.there = false;
    if (!place.there) return;
    if (kGaps == Gaps::stored && lane < kAhead && link.begin + lane < link.end) {
      link.sender = in_senders[link.begin + lane];
      link.weight = in_weights[link.begin + lane];
      link.there = !rebuilt;
    } else if (lane == kAhead) {
      link.sender = place.agent;
      link.there = cuts;
    }
  }
  PORTER_DEVICE void next_source(const Place& place, std::uint32_t thread, Link& link) const {
    link.starts[0] = link.starts[1] = 0;
    const std::uint32_t warp = thread / Block::kWarp, part = part_of(place.tile, warp);
    if (!place.there || !link.there || part >= parts) return;
    const auto* starts = thread % Block::kWarp == kAhead ? next.starts : now.starts;
    link.message = static_cast<std::uint32_t>(Heard::message(link.sender, channel_of(warp)));
    link.message_weight = link.weight;
    for (std::uint32_t i = 0; i < 2; ++i)
      link.starts[i] = starts[std::size_t{link.message} * (parts + 1) + part + i];
  }
  PORTER_DEVICE static std::uint32_t channel_of(std::uint32_t warp) { return warp / (kWarps / 2); }
  PORTER_DEVICE static std::uint32_t part_of(std::uint32_t tile, std::uint32_t warp) {
    return tile * (kWarps / 2) + warp % (kWarps / 2);
  }

  // The chain from agents to senders to their entries, a turn's load each.
  PORTER_DEVICE void find_first(const Block& block, State& state) const {
    if (next.positions)
      block.alone(kThreads, [&](std::uint32_t t) {
        auto& link = state.links[t];
        const std::uint32_t lane = t % Block::kWarp;
        next_row(state.places[0], link);
        next_sender(state.places[0], lane, link);
        next_row(state.places[1], link);
        next_source(state.places[0], t, link);
        next_sender(state.places[1], lane, link);
        next_row(state.places[2], link);
      });
    ask_for_entries(block, state, 0);
  }
  /// Those of place `asked`, whose sources were found a turn ago, are asked for.
  PORTER_DEVICE void ask_for_entries(const Block& block, State& state, std::uint32_t asked) const {
    if (next.positions) {
      block.in_warps(kThreads, [&](std::uint32_t t) {
        const std::uint32_t lane = t % Block::kWarp;
        const auto& link = state.links[t];
        if (lane <= kAhead)
          state.sources_of(t)[lane] = {link.message * kept + link.starts[0],
                                       link.starts[1] - link.starts[0],
                                       static_cast<Real>(link.message_weight)};
      });
      block.in_warps(kThreads, [&](std::uint32_t t) {
        const std::uint32_t lane = t % Block::kWarp;
        const Source* sources = state.sources_of(t);
        if constexpr (kGaps == Gaps::stored) {
          PORTER_UNROLLED
          for (std::uint32_t e = 0; e < kAhead; ++e)
            if (lane < sources[e].count)
              block.copy_one(state.heard_by(t, e), now.entries + sources[e].begin + lane);
        }
        auto& own = state.own[t];
        own.next_first = sources[kAhead].begin + lane;
        own.next_end = sources[kAhead].begin + sources[kAhead].count;
        if (own.next_first < own.next_end) own.next_low_half = next.positions[own.next_first];
        auto& link = state.links[t];
        next_source(state.places[asked + 1], t, link);
        next_sender(state.places[asked + 2], lane, link);
        next_row(state.places[asked + 3], link);
      });
    }
    if constexpr (kGaps == Gaps::stored) block.commit();
  }

  // What needs no gradient of the round: gaps that are summed, noise; and from the second tile on
  // the gradient, too.
  PORTER_DEVICE void prepare(const Block& block, State& state, std::uint32_t turn) const {
    const std::uint32_t agent = state.places[0].agent, first = state.places[0].first();
    const bool none = gradient.kind == Gradient<Real>::Kind::none;
    const bool early = turn > 0 && gradient.is_plain(first + kTile, dim);
    block.alone(kThreads, [&](std::uint32_t t) {
      if (next.positions) take_own(state, t);
      if constexpr (kGaps == Gaps::summed) sum_gaps(state.row(turn, 0), agent, first, t);
      if (none) return;
      auto& released = state.released[t];
      typename Gradient<Real>::Loaded loaded[kPairs];
      typename Gradient<Real>::View view{};
      if (early) {
        view = gradient.of(agent);
        PORTER_UNROLLED
        for (std::uint32_t n = 0; n < kPairs; ++n)
          loaded[n] = gradient.load(view, first + pair_of(t, n));
      }
      if (sigma != 0) make_noise(agent, first / 4 + t, released);
      if (!early) return;
      PORTER_UNROLLED
      for (std::uint32_t n = 0; n < kPairs; ++n)
        released.at[n] = noised(gradient.made_of(view, loaded[n]), released.at[n]);
    });
    if (turn == 0) block.await_previous();
    if (none || early) return;
    block.alone(kThreads, [&](std::uint32_t t) {
      const auto view = gradient.of(agent);
      auto& released = state.released[t];
      PORTER_UNROLLED
      for (std::uint32_t n = 0; n < kPairs; ++n)
        released.at[n] = noised(gradient.pair(view, first + pair_of(t, n), dim), released.at[n]);
    });
  }
  PORTER_DEVICE void make_noise(std::uint32_t agent, std::uint32_t number, Pairs& noise) const {
    PORTER_UNROLLED
    for (std::uint32_t q = 0; q < kQuads; ++q) {
      const auto quad = noise_quad(seed, agent, round, number + q * kThreads);
      for (std::uint32_t i = 0; i < 4; ++i) noise.at[2 * q + i / 2].at[i % 2] = Real{quad.at[i]};
    }
  }
  PORTER_DEVICE Pair<Real> noised(Pair<Real> g, const Pair<Real>& noise) const {
    if (sigma != 0)
      for (std::uint32_t i = 0; i < 2; ++i) g.at[i] += static_cast<Real>(sigma) * noise.at[i];
    return g;
  }
  // What was found for this tile, and where it stands in Q.
  PORTER_DEVICE void take_own(State& state, std::uint32_t t) const {
    auto& own = state.own[t];
    own.first = own.next_first;
    own.end = own.next_end;
    const auto& place = state.places[0];
    own.at = Heard::offset(own.next_low_half, place.first());
    if (own.first < own.end)
      own.q = Q[channel_of(t / Block::kWarp)]
               [std::size_t{place.agent} * stride + place.first() + own.at];
  }

  PORTER_DEVICE void add_messages(const Block& block, State& state, std::uint32_t turn) const {
    if (rebuilt || !now.entries) return;
    const std::uint32_t tile = state.places[0].tile, first = tile * kTile;
    Real* const gaps = state.row(turn, 0);
    PORTER_UNROLLED
    for (std::uint32_t e = 0; e < kAhead; ++e)
      block.in_warps(kThreads, [&](std::uint32_t t) {
        const Source source = state.sources_of(t)[e];
        Real* const to = gaps + channel_of(t / Block::kWarp) * kTile;
        if (t % Block::kWarp < source.count) {
          const HeardEntry entry = *state.heard_by(t, e);
          to[entry.position - first] += source.weight * Real{entry.value};
        }
        if (source.count > Block::kWarp)
          add_rest(to, first, source, t % Block::kWarp + Block::kWarp);
      });
    if (most_heard <= kAhead) return;
    const auto agent = state.places[0].agent;
    PORTER_ROLLED
    for (std::uint32_t e = in_starts[agent] + kAhead; e < in_starts[agent + 1]; ++e)
      block.in_warps(kThreads, [&](std::uint32_t t) {
        const std::uint32_t warp = t / Block::kWarp;
        const std::uint32_t part = part_of(tile, warp);
        if (part >= parts) return;
        const std::size_t message = Heard::message(in_senders[e], channel_of(warp));
        const auto* starts = now.starts + message * (parts + 1) + part;
        const auto base = static_cast<std::uint32_t>(message * kept);
        add_rest(gaps + channel_of(warp) * kTile, first,
                 {base + starts[0], starts[1] - starts[0], static_cast<Real>(in_weights[e])},
                 t % Block::kWarp);
      });
  }
  PORTER_DEVICE PORTER_RARE void add_rest(Real* to, std::uint32_t first, Source source,
                                          std::uint32_t from) const {
    for (std::uint32_t i = from; i < source.count; i += Block::kWarp) {
      const HeardEntry entry = now.entries[source.begin + i];
      to[entry.position - first] += source.weight * Real{entry.value};
    }
  }

  PORTER_DEVICE void sum_gaps(Real* gaps, std::uint32_t agent, std::uint32_t first,
                              std::uint32_t t) const {
    const std::uint32_t begin = in_starts[agent], end = in_starts[agent + 1];
    PORTER_ROLLED
    for (std::uint32_t n = 0; n < kPairs; ++n) {
      const std::uint32_t at = pair_of(t, n);
      if (first + at >= stride) return;
      Pair<Real> sums[2] = {};
#if defined(__CUDA_ARCH__)
#pragma unroll 5
#endif
      for (std::uint32_t e = begin; e < end; ++e) {
        const std::size_t there = std::size_t{in_senders[e]} * stride + first + at;
        const auto weight = static_cast<Real>(in_weights[e]);
        for (std::uint32_t c = 0; c < 2; ++c) {
          const auto q = load_pair(Q[c] + there);
          for (std::uint32_t i = 0; i < 2; ++i) sums[c].at[i] += weight * q.at[i];
        }
      }
      for (std::uint32_t c = 0; c < 2; ++c) pair_at(gaps + c * kTile + at) = sums[c];
    }
  }

  // Lines 12 and 14.
  PORTER_DEVICE void move(const Block& block, State& state, std::uint32_t turn) const {
    block.each(0, [](std::uint32_t) {});  // all messages of the tile are in its gaps
    const std::uint32_t agent = state.places[0].agent, first = state.places[0].first();
    const std::size_t row = std::size_t{agent} * stride + first;
    Real* const rows = state.row(turn, 0);
    block.each(kThreads, [&](std::uint32_t t) {
      PORTER_UNROLLED
      for (std::uint32_t n = 0; n < kPairs; ++n) {
        const std::uint32_t at = pair_of(t, n);
        if (first + at >= stride) continue;
        Pair<Real> gap[2] = {pair_at(rows + at), pair_at(rows + kTile + at)};
        if (kGaps == Gaps::stored && !rebuilt) {
          for (std::uint32_t c = 0; c < 2; ++c) {
            if (!now.entries) gap[c] = with_dense(c, agent, first + at, gap[c]);
            store_passing(R[c] + row + at, gap[c]);
          }
        }
        auto u = pair_at(rows + 2 * kTile + at), x = pair_at(rows + 3 * kTile + at);
        Pair<Real> v;
        if (gradient.kind == Gradient<Real>::Kind::none) {
          v = load_pair(V + row + at);
          for (std::uint32_t i = 0; i < 2; ++i) {
            u.at[i] += gamma * gap[0].at[i];
            v.at[i] += gamma * gap[0].at[i];
            x.at[i] += gamma * gap[1].at[i];
          }
        } else {
          v = state.released[t].at[n];
          for (std::uint32_t i = 0; i < 2; ++i)
            porter_entry(gamma, eta, gap[0].at[i], gap[1].at[i], u.at[i], v.at[i], x.at[i]);
        }
        store_passing(U + row + at, u);
        store_passing(X + row + at, x);
        if (stores_v) store_passing(V + row + at, v);
        if (!cuts) continue;
        if (!next.entries) {
          cut_dense(agent, first + at, v, x);
          continue;
        }
        pair_at(rows + at) = v;
        pair_at(rows + kTile + at) = x;
        if (kGaps == Gaps::summed)
          for (std::uint32_t c = 0; c < 2; ++c)
            pair_at(Q_next[c] + row + at) = load_pair(Q[c] + row + at);
      }
    });
  }

  // Messages of all entries.
  PORTER_DEVICE PORTER_RARE Pair<Real> with_dense(std::uint32_t c, std::uint32_t agent,
                                                  std::uint32_t j, Pair<Real> gap) const {
    PORTER_ROLLED
    for (std::uint32_t e = in_starts[agent]; e < in_starts[agent + 1]; ++e) {
      const float* values = now.values + Heard::message(in_senders[e], c) * kept;
      for (std::uint32_t i = 0; i < 2; ++i)
        if (j + i < dim) gap.at[i] += static_cast<Real>(in_weights[e]) * Real{values[j + i]};
    }
    return gap;
  }
  PORTER_DEVICE PORTER_RARE void cut_dense(std::uint32_t agent, std::uint32_t j, Pair<Real> v,
                                           Pair<Real> x) const {
    for (std::uint32_t c = 0; c < 2; ++c)
      for (std::uint32_t i = 0; i < 2; ++i) {
        if (j + i >= dim) continue;
        const Real q = Q[c][std::size_t{agent} * stride + j + i];
        const auto value = static_cast<float>((c == 0 ? v : x).at[i] - q);
        next.values[Heard::message(agent, c) * kept + j + i] = value;
        Q_next[c][std::size_t{agent} * stride + j + i] = q + Real{value};
      }
  }

  // Q <- Q + C(S - Q), the difference rounded to float once.
  PORTER_DEVICE void cut_messages(const Block& block, State& state, std::uint32_t turn) const {
    const std::uint32_t agent = state.places[0].agent, first = state.places[0].first();
    const std::size_t row = std::size_t{agent} * stride + first;
    const Real* const rows = state.row(turn, 0);
    block.each(kThreads, [&](std::uint32_t t) {
      const std::uint32_t channel = channel_of(t / Block::kWarp);
      const Real* const from = rows + channel * kTile;
      const auto cut = [&](std::uint32_t i, std::uint32_t at, Real q) {
        const auto value = static_cast<float>(from[at] - q);
        next.entries[i] = {first + at, value};
        Q_next[channel][row + at] = q + Real{value};
      };
      const auto& own = state.own[t];
      if (own.first < own.end) cut(own.first, own.at, own.q);
      PORTER_ROLLED
      for (std::uint32_t more = own.first + Block::kWarp; more < own.end; more += Block::kWarp) {
        const auto at = Heard::offset(next.positions[more], first);
        cut(more, at, Q[channel][row + at]);
      }
    });
  }
};

}  // namespace porter::cuda
