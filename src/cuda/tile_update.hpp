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
/// the last one, who is heard since three tiles ago, messages since the noise was begun. A block's
/// tiles are `blocks` apart in an order that has the same tile of all agents side by side: their
/// messages are read many times, and stay in the cache meanwhile.
template <class Real, std::uint32_t kQuads, Gaps kGaps>
struct UpdateKernel {
  static constexpr int kThreads = 256;
  /// More would have too few registers, and leave too little of the cache beside their memory.
  static constexpr int kBlocks = 2;
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
    std::uint32_t begin, end;  ///< among all positions and values
    Real weight;
  };
  static constexpr std::size_t kSources = kWarps * (kAhead + 1);
  static constexpr std::size_t kBytes =
      (kStages * kRows + 1) * kTile * sizeof(Real) + kSources * sizeof(Source);

  PORTER_DEVICE void operator()(const Block& block) const {
    block.let_next_start();
    State state(block);
    auto& places = state.places;
    places[0] = {block.x % agents, block.x / agents, true};
    for (std::uint32_t ahead = 1; ahead < 4; ++ahead) places[ahead] = after(places[ahead - 1]);
    for (std::uint32_t ahead = 0; ahead < kStages; ++ahead)
      fetch(block, state, ahead, places[ahead]);
    find_sources(block, state);
    PORTER_ROLLED
    for (std::uint32_t turn = 0;; ++turn) {
      prepare(block, state, turn);
      if (turn == 0) block.await_previous();
      release(block, state, turn);
      block.template arrive<kStages - 1>();
      if constexpr (kGaps == Gaps::stored) add_messages(block, state, turn);
      move(block, state, turn);
      if (cuts && now.positions) cut_messages(block, state, turn);
      if (!places[1].there) break;
      fetch(block, state, turn + kStages, places[kStages]);
      for (std::uint32_t ahead = 0; ahead < 3; ++ahead) places[ahead] = places[ahead + 1];
      places[3] = after(places[2]);
    }
  }

 private:
  static_assert(kTile <= 1U << 16);

  /// What was loaded stays as it is until it is needed: the first use waits for it.
  struct Link {
    std::uint32_t begin = 0, end = 0;  // of the agent's senders, two tiles ahead
    std::uint32_t sender = 0;          // one tile ahead
    bool there = false;
    double weight = 0;
    std::uint32_t message = 0, starts[2] = {};  // of the tile at hand
    double message_weight = 0;
  };
  struct Entries {
    std::uint16_t low_half[kAhead];
    float value[kAhead];
    std::uint32_t there;  // a bit of each
    std::uint16_t own_low_half;
    bool own_there;
    Real own_q;
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
          released(rows + kStages * kRows * kTile),
          sources(block.memory_as<Source>((kStages * kRows + 1) * kTile * sizeof(Real))) {}
    Real* rows;       // stage, then gaps of V and X, U, X; V and X take the place of their gaps
    Real* released;   // noise, then G
    Source* sources;  // warp x (kAhead + 1): the last is what the agent itself sends next
    Place places[4];  // of this turn and the next ones
    PerThread<Link, kThreads> links;
    PerThread<Entries, kThreads> entries;

    PORTER_DEVICE Real* row(std::uint32_t turn, std::uint32_t which) const {
      return rows + (turn % kStages * kRows + which) * kTile;
    }
  };

  /// Coordinate `low` of slot s, and the next, and both 32 further on: a block of noise.
  PORTER_DEVICE static std::uint32_t low_of(std::uint32_t slot) {
    return slot / 16 * 64 + slot % 16 * 2;
  }
  /// Where pair n of a thread begins.
  PORTER_DEVICE static std::uint32_t pair_of(std::uint32_t t, std::uint32_t n) {
    return low_of(t + n / 2 * kThreads) + n % 2 * 32;
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
      const auto bytes = static_cast<std::uint32_t>(size * sizeof(Real));
      Real* const rows = state.row(turn, 0);
      if constexpr (kGaps == Gaps::stored) {
        block.copy(rows, R[0] + at, bytes);
        block.copy(rows + kTile, R[1] + at, bytes);
      }
      block.copy(rows + 2 * kTile, U + at, bytes);
      block.copy(rows + 3 * kTile, X + at, bytes);
    }
    block.commit();
  }

  PORTER_DEVICE void next_row(const Place& place, Link& link) const {
    link.begin = link.end = 0;
    if (!place.there) return;
    link.begin = in_starts[place.agent];
    link.end = in_starts[place.agent + 1];
  }
  PORTER_DEVICE void next_sender(const Place& place, std::uint32_t lane, Link& link) const {
    link.there = false;
    if (!place.there) return;
    if (lane < kAhead && link.begin + lane < link.end) {
      link.sender = in_senders[link.begin + lane];
      link.weight = in_weights[link.begin + lane];
      link.there = true;
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
  PORTER_DEVICE void find_sources(const Block& block, State& state) const {
    if (!now.positions) return;
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
  }

  // What needs no gradient: messages, gaps that are summed, noise.
  PORTER_DEVICE void prepare(const Block& block, State& state, std::uint32_t turn) const {
    const std::uint32_t agent = state.places[0].agent, first = state.places[0].first();
    if (now.positions) {
      block.in_warps(kThreads, [&](std::uint32_t t) {
        const std::uint32_t lane = t % Block::kWarp;
        const auto& link = state.links[t];
        const std::uint32_t base = link.message * kept;
        if (lane <= kAhead)
          state.sources[t / Block::kWarp * (kAhead + 1) + lane] = {
              base + link.starts[0], base + link.starts[1], static_cast<Real>(link.message_weight)};
      });
      block.alone(kThreads, [&](std::uint32_t t) {
        ask_for_entries(state, t);
        auto& link = state.links[t];
        next_source(state.places[1], t, link);
        next_sender(state.places[2], t % Block::kWarp, link);
        next_row(state.places[3], link);
      });
    }
    block.alone(kThreads, [&](std::uint32_t t) {
      if constexpr (kGaps == Gaps::summed) sum_gaps(state.row(turn, 0), agent, first, t);
      const bool none = gradient.kind == Gradient<Real>::Kind::none || sigma == 0;
      const bool early = turn > 0 && is_early(first);
      const auto view = early ? gradient.of(agent) : typename Gradient<Real>::View{};
      PORTER_ROLLED
      for (std::uint32_t q = 0; q < kQuads && !none; ++q) {
        const std::uint32_t low = low_of(t + q * kThreads);
        typename Gradient<Real>::Loaded loaded[2];
        if (early)
          for (std::uint32_t h = 0; h < 2; ++h)
            loaded[h] = gradient.load(view, first + low + 32 * h);
        const auto quad = noise_quad(seed, agent, round, first / 4 + t + q * kThreads);
        for (std::uint32_t h = 0; h < 2; ++h) {
          Pair<Real> noise = {{Real{quad.at[2 * h]}, Real{quad.at[2 * h + 1]}}};
          if (early) {
            auto g = gradient.made_of(view, loaded[h]);
            for (std::uint32_t i = 0; i < 2; ++i) g.at[i] += static_cast<Real>(sigma) * noise.at[i];
            noise = g;
          }
          pair_at(state.released + low + 32 * h) = noise;
        }
      }
      if (now.positions) ask_for_own(state, t);
    });
  }
  // Whether all of a tile are weights of a first layer, whose gradient is asked for before the
  // noise is made.
  PORTER_DEVICE bool is_early(std::uint32_t first) const {
    return sigma != 0 && gradient.is_plain(first + kTile);
  }

  // G with its noise.
  PORTER_DEVICE void release(const Block& block, State& state, std::uint32_t turn) const {
    if (gradient.kind == Gradient<Real>::Kind::none) return;
    const std::uint32_t agent = state.places[0].agent, first = state.places[0].first();
    if (turn > 0 && is_early(first)) return;
    const auto view = gradient.of(agent);
    const auto deviation = static_cast<Real>(sigma);
    block.alone(kThreads, [&](std::uint32_t t) {
      PORTER_ROLLED
      for (std::uint32_t n = 0; n < kPairs; ++n) {
        const std::uint32_t at = pair_of(t, n);
        auto g = gradient.pair(view, first + at, dim);
        auto& released = pair_at(state.released + at);
        if (sigma != 0)
          for (std::uint32_t i = 0; i < 2; ++i) g.at[i] += deviation * released.at[i];
        released = g;
      }
    });
  }

  PORTER_DEVICE void ask_for_entries(State& state, std::uint32_t t) const {
    const std::uint32_t lane = t % Block::kWarp;
    const Source* sources = state.sources + t / Block::kWarp * (kAhead + 1);
    auto& entries = state.entries[t];
    entries.there = 0;
    PORTER_UNROLLED
    for (std::uint32_t e = 0; e < kAhead; ++e) {
      const std::uint32_t i = sources[e].begin + lane;
      const bool there = !rebuilt && i < sources[e].end;
      entries.there |= there ? 1U << e : 0U;
      if (there) entries.low_half[e] = now.positions[i];
      if (there) entries.value[e] = now.values[i];
    }
    const std::uint32_t own = sources[kAhead].begin + lane;
    entries.own_there = own < sources[kAhead].end;
    if (entries.own_there) entries.own_low_half = next.positions[own];
  }
  // Where what the agent sends next stands in Q.
  PORTER_DEVICE void ask_for_own(State& state, std::uint32_t t) const {
    auto& entries = state.entries[t];
    if (!entries.own_there) return;
    const auto& place = state.places[0];
    const std::size_t row = std::size_t{place.agent} * stride + place.first();
    entries.own_q =
        Q[channel_of(t / Block::kWarp)][row + Heard::offset(entries.own_low_half, place.first())];
  }

  PORTER_DEVICE void add_messages(const Block& block, State& state, std::uint32_t turn) const {
    if (rebuilt || !now.positions) return;
    const std::uint32_t tile = state.places[0].tile, first = tile * kTile;
    Real* const gaps = state.row(turn, 0);
    PORTER_UNROLLED
    for (std::uint32_t e = 0; e < kAhead; ++e)
      block.in_warps(kThreads, [&](std::uint32_t t) {
        const std::uint32_t warp = t / Block::kWarp;
        const Source source = state.sources[warp * (kAhead + 1) + e];
        Real* const to = gaps + channel_of(warp) * kTile;
        const auto& entries = state.entries[t];
        if ((entries.there >> e & 1) != 0)
          to[Heard::offset(entries.low_half[e], first)] += source.weight * Real{entries.value[e]};
        if (source.end - source.begin > Block::kWarp)
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
                 {base + starts[0], base + starts[1], static_cast<Real>(in_weights[e])},
                 t % Block::kWarp);
      });
  }
  PORTER_DEVICE PORTER_RARE void add_rest(Real* to, std::uint32_t first, Source source,
                                          std::uint32_t from) const {
    for (std::uint32_t i = source.begin + from; i < source.end; i += Block::kWarp)
      to[Heard::offset(now.positions[i], first)] += source.weight * Real{now.values[i]};
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
      PORTER_ROLLED
      for (std::uint32_t n = 0; n < kPairs; ++n) {
        const std::uint32_t at = pair_of(t, n);
        if (first + at >= stride) break;
        Pair<Real> gap[2] = {pair_at(rows + at), pair_at(rows + kTile + at)};
        if (kGaps == Gaps::stored && !rebuilt) {
          for (std::uint32_t c = 0; c < 2; ++c) {
            if (!now.positions) gap[c] = with_dense(c, agent, first + at, gap[c]);
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
          v = pair_at(state.released + at);
          for (std::uint32_t i = 0; i < 2; ++i)
            porter_entry(gamma, eta, gap[0].at[i], gap[1].at[i], u.at[i], v.at[i], x.at[i]);
        }
        store_passing(U + row + at, u);
        store_passing(X + row + at, x);
        if (stores_v) store_passing(V + row + at, v);
        if (!cuts) continue;
        if (!now.positions) {
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
      const std::uint32_t warp = t / Block::kWarp, channel = warp / (kWarps / 2);
      const Source source = state.sources[warp * (kAhead + 1) + kAhead];
      const Real* const from = rows + channel * kTile;
      const auto cut = [&](std::uint32_t i, std::uint32_t at, Real q) {
        const auto value = static_cast<float>(from[at] - q);
        next.values[i] = value;
        Q_next[channel][row + at] = q + Real{value};
      };
      const std::uint32_t i = source.begin + t % Block::kWarp;
      const auto& entries = state.entries[t];
      if (entries.own_there) cut(i, Heard::offset(entries.own_low_half, first), entries.own_q);
      PORTER_ROLLED
      for (std::uint32_t more = i + Block::kWarp; more < source.end; more += Block::kWarp) {
        const auto at = Heard::offset(next.positions[more], first);
        cut(more, at, Q[channel][row + at]);
      }
    });
  }
};

}  // namespace porter::cuda
