// SPDX-License-Identifier: Apache-2.0
// porter-sweep: gradient tracking where noise is calmed before it is tracked, and all agents send
// the same public coordinates, so that mixing on them is exact and needs no surrogates. Row form,
// s gossip steps per gradient, J the next k coordinates of a public sweep through all d:
//
//   M <- (1 - beta) M + beta G;   V <- V + M - M_prev;   X <- X - eta V
//   s times:   V_J <- W^T V_J;   X_J <- W^T X_J
//
// W stays doubly stochastic on every block, so mean V = mean M, and the average iterate follows
// averaged DP-SGD with momentum exactly. What agents send are floats q, and each adds (W - I)^T q
// with its own q in it, so that rounding moves nobody's average.
//
// clang-format off
// | symbol  | code               | meaning
// |---------|--------------------|-------------------------------------------------------
// | X, V    | X_, V_             | iterates, trackers
// | M       | gradients_' output | low-passed clipped and noised gradients
// | U       | U_                 | V - M: what gossip has moved
// | J, k    | mask_              | the coordinates of a gossip step
// | s, beta | gossip_steps_, -   | gossip steps per gradient; momentum, inside gradients_
// clang-format on
#include <cmath>

#include "message.hpp"
#include "methods.hpp"
#include "porter/algo/bounds.hpp"
#include "porter/comm/exchange.hpp"
#include "porter/core/vector_math.hpp"
#include "sweep_mask.hpp"

namespace porter {
namespace {

class PorterSweep final : public Algorithm {
 public:
  explicit PorterSweep(const AlgorithmSetup& setup)
      : graph_(setup.neighbours().graph),
        incoming_(incoming_weights(setup.neighbours())),
        pool_(setup.pool),
        hosted_(setup.hosted()),
        exchange_(setup.exchange),
        bounds_(public_bounds(setup)),
        eta_(setup.eta),
        gossip_steps_(setup.gossip),
        gradients_(setup.problem, setup.gradients, setup.pool),
        mask_(setup.gradients.seed, setup.start.size(),
              setup.compressor.kept(setup.start.size()).value()),
        X_(repeat_row(setup.start, setup.problem.agents, hosted_)),
        U_(X_.agents(), X_.dim()),
        M_(X_.agents(), X_.dim()),
        sent_(X_.agents()) {}

  void step(std::uint32_t round) override {
    for_each_agent(pool_, hosted_, [&](std::size_t agent) {
      gradients_.prepare(agent, X_.row(agent), round, M_.row(agent));
    });
    for_each_tile(pool_, hosted_, X_.dim(), [&](const Tile& tile) {
      const auto u = tile.of(U_.row(tile.agent)), m = tile.of(M_.row(tile.agent)),
                 x = tile.of(X_.row(tile.agent));
      gradients_.release(tile, round, m);  // M <- (1 - beta) M + beta G
      for (std::size_t j = 0; j < x.size(); ++j) x[j] -= eta_ * (u[j] + m[j]);  // V = U + M
    });
    for (std::uint32_t s = 1; s <= gossip_steps_; ++s) mix((round - 1) * gossip_steps_ + s);
  }

  const Rows& iterates() const override { return X_; }

  // mean V - mean M = mean U.
  std::optional<double> tracking_error() const override {
    return std::sqrt(squared_norm(mean_row(U_)));
  }

  Traffic& traffic() override { return traffic_; }

  std::vector<NamedRows> state() override {
    std::vector<NamedRows> state = {{"X", &X_}, {"U", &U_}, {"M", &M_}};
    gradients_.append_state(state);
    return state;
  }

 private:
  struct Sent {
    Message v, x;
  };

  // V_J <- W^T V_J and X_J <- W^T X_J.
  void mix(std::uint32_t step) {
    const auto J = mask_.positions(step);
    for_each_agent(pool_, hosted_, [&](std::size_t agent) {
      const auto u = U_.row(agent), m = M_.row(agent);
      message_at(
          J, u.size(), [&](std::uint32_t j) { return u[j] + m[j]; }, sent_[agent].v);
      message_at(
          J, u.size(), [x = X_.row(agent)](std::uint32_t j) { return x[j]; }, sent_[agent].x);
      check_sent(sent_[agent].v.decoded, bounds_.tracker, agent, step);
      check_sent(sent_[agent].x.decoded, bounds_.iterate, agent, step);
      if (exchange_) post(step, agent);
    });
    if (exchange_) collect(step, J);
    for (const auto agent : hosted_)
      traffic_.add(sent_[agent].v.payload.size() + sent_[agent].x.payload.size(),
                   graph_.degree(agent));
    for_each_agent(pool_, hosted_, [&](std::size_t agent) {
      for (const auto& [sender, weight] : incoming_[agent]) {
        add_decoded(weight, sent_[sender].v, U_.row(agent));
        add_decoded(weight, sent_[sender].x, X_.row(agent));
      }
    });
  }

  void post(std::uint32_t step, std::size_t agent) {
    const std::span<const std::byte> vectors[] = {sent_[agent].v.payload, sent_[agent].x.payload};
    exchange_->post(step, static_cast<std::uint32_t>(agent), {.vectors = vectors});
  }

  void collect(std::uint32_t step, std::span<const std::uint32_t> J) {
    exchange_->collect(step, 2, [&](const Exchange::Incoming& message) {
      auto& [v, x] = sent_[message.sender];
      v.decoded.indices.assign(J.begin(), J.end());
      x.decoded.indices.assign(J.begin(), J.end());
      unseal_floats(message.vectors[0], X_.dim(), v.decoded);
      unseal_floats(message.vectors[1], X_.dim(), x.decoded);
      check_received(v.decoded, bounds_.tracker, step);
      check_received(x.decoded, bounds_.iterate, step);
    });
  }

  const Graph& graph_;
  std::vector<std::vector<MixingWeight>> incoming_;
  ThreadPool& pool_;
  std::vector<std::uint32_t> hosted_;  // the agents that are computed here
  Exchange* exchange_;
  PublicBounds bounds_;
  double eta_;
  std::uint32_t gossip_steps_;
  GradientEstimator gradients_;
  SweepMask mask_;
  Rows X_, U_, M_;
  std::vector<Sent> sent_;
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<Algorithm> make_porter_sweep(const AlgorithmSetup& setup) {
  return std::make_unique<PorterSweep>(setup);
}

}  // namespace porter
