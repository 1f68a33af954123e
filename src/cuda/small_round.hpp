// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algo/porter_entry.hpp"
#include "heard.hpp"
#include "linear.hpp"
#include "messages.hpp"
#include "mix.hpp"

namespace porter::cuda {

/// A whole round of a small model with one score, single samples and messages of few entries: what
/// LogisticKernel, UpdateKernel and CheckKernel do, a warp an agent. Messages of this step come in;
/// those of the next are cut, and checked.
template <class Real>
struct SmallRoundKernel {
  static constexpr int kThreads = 128;
  static constexpr int kBlocks = 7;
  static constexpr bool kStartsEarly = true;
  static constexpr std::uint32_t kWarps = kThreads / Warp::kLanes;
  /// Parameters, and entries of a message; more are for the kernels of large models.
  static constexpr std::uint32_t kMostParameters = 512, kMostKept = Warp::kLanes / 2;
  /// Senders whose messages are asked for at once.
  static constexpr std::uint32_t kAhead = 10;

  std::uint32_t agents, dim, stride, kept;
  Heard now, next;
  bool stored;    ///< the gaps, else they are summed from Q
  bool cuts;      ///< the messages of the next step
  bool rebuilt;   ///< the gaps are what they shall be
  bool stores_v;  ///< else V is known to nobody
  LinearSample sample;
  std::uint64_t seed;
  std::uint32_t round, step;
  Real gamma, eta;
  double sigma;
  Real *X, *U, *V;
  const Real* Q[2];
  Real* Q_next[2];  ///< the same where gaps are stored
  Real* R[2];
  const std::uint32_t *in_starts, *in_senders;
  const double* in_weights;
  Outlaws outlaws;

  std::size_t blocks() const { return (agents + kWarps - 1) / kWarps; }
  std::size_t bytes() const {
    return kWarps * stride * (2 * sizeof(double) + kRows * sizeof(Real));
  }

  PORTER_DEVICE void operator()(const Block& block) const {
    block.let_next_start();
    block.warps(kThreads, [&](const Warp& warp) {
      const std::uint32_t agent = block.x * kWarps + warp.index;
      if (agent < agents) go(block, warp, agent);
    });
  }

 private:
  static constexpr std::uint32_t kRows = 5;

  struct Work {
    double *g, *terms;
    Real *gaps[2], *x, *u, *released;
  };
  /// An entry of a message that goes out: where it is, and Q there.
  struct Own {
    std::uint32_t at;
    Real q;
  };
  struct Entries {
    HeardEntry at[kAhead];
    Real weight[kAhead];
  };
  PORTER_DEVICE Work work_of(const Block& block, const Warp& warp) const {
    auto* const wide = block.memory_as<double>() + 2 * std::size_t{stride} * warp.index;
    auto* const own = block.memory_as<Real>(2 * kWarps * stride * sizeof(double)) +
                      kRows * std::size_t{stride} * warp.index;
    return {wide,
            wide + stride,
            {own, own + stride},
            own + 2 * stride,
            own + 3 * stride,
            own + 4 * stride};
  }

  /// Coordinate `low` of a quad, and the next, and both 32 further on: a block of noise.
  PORTER_DEVICE static std::uint32_t low_of(std::uint32_t quad) {
    return quad / 16 * 64 + quad % 16 * 2;
  }
  /// work(j) for the pairs of a lane, which begin at j.
  template <class Each>
  PORTER_DEVICE void pairs(std::uint32_t lane, const Each& work) const {
    for (std::uint32_t quad = lane; quad < stride / 4; quad += Warp::kLanes) {
      work(low_of(quad));
      work(low_of(quad) + 32);
    }
  }
  PORTER_DEVICE static Pair<Real>& pair_at(Real* row) {
    return *reinterpret_cast<Pair<Real>*>(row);
  }

  PORTER_DEVICE void go(const Block& block, const Warp& warp, std::uint32_t agent) const {
    const Work w = work_of(block, warp);
    const std::size_t row = std::size_t{agent} * stride;
    warp.each([&](std::uint32_t lane) { make_noise(w, agent, lane); });
    block.await_previous();
    PerLane<Own> own;
    warp.each([&](std::uint32_t lane) {
      own[lane] = ask_for_own(agent, lane);
      load(w, agent, row, lane);
    });
    const double scale = gradient(warp, w, agent);
    if (stored && !rebuilt) add_messages(warp, w, agent);
    warp.each([&](std::uint32_t lane) { move(w, row, scale, lane); });
    if (cuts) cut_messages(warp, w, agent, own);
  }

  PORTER_DEVICE void make_noise(const Work& w, std::uint32_t agent, std::uint32_t lane) const {
    if (sigma == 0) return;
    for (std::uint32_t quad = lane; quad < stride / 4; quad += Warp::kLanes) {
      const auto noise = noise_quad(seed, agent, round, quad);
      for (std::uint32_t n = 0; n < 4; ++n)
        w.released[low_of(quad) + n % 2 + n / 2 * 32] = Real{noise.at[n]};
    }
  }

  PORTER_DEVICE void load(const Work& w, std::uint32_t agent, std::size_t row,
                          std::uint32_t lane) const {
    pairs(lane, [&](std::uint32_t j) {
      pair_at(w.x + j) = load_pair(X + row + j);
      pair_at(w.u + j) = load_pair(U + row + j);
      for (std::uint32_t c = 0; c < 2; ++c)
        pair_at(w.gaps[c] + j) = stored ? load_pair(R[c] + row + j) : summed(c, agent, j);
    });
  }
  PORTER_DEVICE Pair<Real> summed(std::uint32_t c, std::uint32_t agent, std::uint32_t j) const {
    Pair<Real> sum{};
    for (std::uint32_t e = in_starts[agent]; e < in_starts[agent + 1]; ++e) {
      const auto weight = static_cast<Real>(in_weights[e]);
      const auto q = load_pair(Q[c] + std::size_t{in_senders[e]} * stride + j);
      for (std::uint32_t i = 0; i < 2; ++i) sum.at[i] += weight * q.at[i];
    }
    return sum;
  }

  /// Up to the scale, which it returns: LogisticKernel::one_sample.
  PORTER_DEVICE double gradient(const Warp& warp, const Work& w, std::uint32_t agent) const {
    const SampleRows& rows = sample.rows;
    const Clipping& clipping = sample.clipping;
    const double lambda = sample.lambda;
    const std::size_t at = rows.row(agent, 0);
    const float* f = rows.values_of(at);
    const std::uint32_t size = rows.size_of(at);
    warp.each([&](std::uint32_t lane) {
      for (std::uint32_t i = lane; i < size; i += Warp::kLanes)
        w.terms[i] = double{w.x[rows.column(at, i)]} * double{f[i]};
      for (std::uint32_t j = lane; j < dim; j += Warp::kLanes)
        w.g[j] = lambda > 0 ? regulariser_slope(lambda, double{w.x[j]}) : 0.0;
    });
    double score = 0;
    for (std::uint32_t i = 0; i < size; ++i) score += w.terms[i];
    const double c = sample.slope(score, rows.labels[at]);
    warp.each([&](std::uint32_t lane) {
      for (std::uint32_t i = lane; i < size; i += Warp::kLanes)
        w.g[rows.column(at, i)] += c * double{f[i]};
    });
    if (!clipping.by_sample) return clipping.mean;
    double square = 0;
    if (lambda > 0) {
      warp.each([&](std::uint32_t lane) {
        if (lane >= kSumLanes) return;
        double sum = 0;
        for (std::uint32_t j = lane; j < dim; j += kSumLanes) sum += w.g[j] * w.g[j];
        w.terms[lane] = sum;
      });
      square = added(w.terms);
    } else {
      double sum = 0;
      for (std::uint32_t i = 0; i < size; ++i) sum += double{f[i]} * double{f[i]};
      square = c * c * sum;
    }
    return clipping.factor(std::sqrt(square)) * clipping.mean;
  }
  PORTER_DEVICE static double added(const double* s) {
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  }

  /// Which entry of which channel a lane has; entry `kept` or a later one: none.
  PORTER_DEVICE static std::uint32_t channel_of(std::uint32_t lane) { return lane / kMostKept; }
  PORTER_DEVICE static std::uint32_t entry_of(std::uint32_t lane) { return lane % kMostKept; }

  /// Senders in ascending order.
  PORTER_DEVICE void add_messages(const Warp& warp, const Work& w, std::uint32_t agent) const {
    const std::uint32_t end = in_starts[agent + 1];
    PORTER_ROLLED
    for (std::uint32_t first = in_starts[agent]; first < end; first += kAhead) {
      PerLane<Entries> entries;
      warp.each([&](std::uint32_t lane) {
        PORTER_UNROLLED
        for (std::uint32_t e = 0; e < kAhead; ++e) {
          if (first + e >= end || entry_of(lane) >= kept) continue;
          const std::size_t i =
              Heard::message(in_senders[first + e], channel_of(lane)) * kept + entry_of(lane);
          entries[lane].at[e] = now.entries[i];
          entries[lane].weight[e] = static_cast<Real>(in_weights[first + e]);
        }
      });
      PORTER_UNROLLED
      for (std::uint32_t e = 0; e < kAhead; ++e)
        warp.each([&](std::uint32_t lane) {
          if (first + e >= end || entry_of(lane) >= kept) return;
          const auto [position, value] = entries[lane].at[e];
          w.gaps[channel_of(lane)][position] += entries[lane].weight[e] * Real{value};
        });
    }
  }

  // Lines 12 and 14.
  PORTER_DEVICE void move(const Work& w, std::size_t row, double scale, std::uint32_t lane) const {
    pairs(lane, [&](std::uint32_t j) {
      Pair<Real> gap[2] = {pair_at(w.gaps[0] + j), pair_at(w.gaps[1] + j)};
      auto u = pair_at(w.u + j), x = pair_at(w.x + j);
      Pair<Real> v{};
      for (std::uint32_t i = 0; i < 2; ++i) {
        if (scale != 0 && j + i < dim) v.at[i] = static_cast<Real>(scale * w.g[j + i]);
        if (sigma != 0) v.at[i] += static_cast<Real>(sigma) * w.released[j + i];
        porter_entry(gamma, eta, gap[0].at[i], gap[1].at[i], u.at[i], v.at[i], x.at[i]);
      }
      pair_at(U + row + j) = u;
      pair_at(X + row + j) = x;
      if (stores_v) pair_at(V + row + j) = v;
      for (std::uint32_t c = 0; c < 2; ++c) {
        if (stored && !rebuilt) pair_at(R[c] + row + j) = gap[c];
        if (!stored && cuts) pair_at(Q_next[c] + row + j) = load_pair(Q[c] + row + j);
      }
      pair_at(w.gaps[0] + j) = v;
      pair_at(w.gaps[1] + j) = x;
    });
  }

  PORTER_DEVICE Own ask_for_own(std::uint32_t agent, std::uint32_t lane) const {
    if (!cuts || entry_of(lane) >= kept) return {};
    const std::uint32_t c = channel_of(lane);
    const std::uint32_t at = next.positions[Heard::message(agent, c) * kept + entry_of(lane)];
    return {at, Q[c][std::size_t{agent} * stride + at]};
  }
  // Q <- Q + C(S - Q), the difference rounded to float once; and what CheckKernel looks at.
  PORTER_DEVICE void cut_messages(const Warp& warp, const Work& w, std::uint32_t agent,
                                  PerLane<Own>& own) const {
    warp.each([&](std::uint32_t lane) {
      if (entry_of(lane) >= kept) return;
      const std::uint32_t c = channel_of(lane);
      const auto [at, q] = own[lane];
      const auto value = static_cast<float>(w.gaps[c][at] - q);
      next.entries[Heard::message(agent, c) * kept + entry_of(lane)] = {at, value};
      Q_next[c][std::size_t{agent} * stride + at] = q + Real{value};
      w.terms[lane] = double{value} * double{value};
    });
    warp.each([&](std::uint32_t lane) {
      if (lane >= 2) return;
      double s[kSumLanes] = {};
      for (std::uint32_t i = 0; i < kMostKept; ++i)
        if (i < kept) s[i % kSumLanes] += w.terms[lane * kMostKept + i];
      outlaws.report(Heard::message(agent, lane), lane, step + 1, std::sqrt(added(s)));
    });
  }
};

}  // namespace porter::cuda
