// SPDX-License-Identifier: Apache-2.0
// DeepSqueeze (Tang et al.: DeepSqueeze: Decentralization Meets Error-Compensated Compression,
// 2019), row form:
//
//   V <- X - eta G + E;   E <- V - C(V);   X <- X - eta G + gamma (W - I)^T C(V)
//
// clang-format off
// | paper   | code      | meaning
// |---------|-----------|-------------------------------------------------------
// | x       | X_        | iterates
// | v       | V_        | what is compressed: the half step and the old error
// | delta   | E_        | what compression has left out so far
// | C_w[v]  | messages_ | the compressed model that travels
// | eta     | gamma_    | consensus step;  the paper's gamma is our eta_
// clang-format on
#include <algorithm>

#include "message.hpp"
#include "methods.hpp"
#include "porter/algo/bounds.hpp"
#include "porter/comm/exchange.hpp"
#include "porter/core/vector_math.hpp"

namespace porter {
namespace {

class Deepsqueeze final : public Algorithm {
 public:
  explicit Deepsqueeze(const AlgorithmSetup& setup)
      : compressor_(setup.compressor),
        graph_(setup.neighbours().graph),
        incoming_(incoming_weights(setup.neighbours())),
        pool_(setup.pool),
        hosted_(setup.hosted()),
        exchange_(setup.exchange),
        seed_(setup.gradients.seed),
        eta_(setup.eta),
        gamma_(setup.gamma),
        bound_(public_bounds(setup).iterate),
        gradients_(setup.problem, setup.gradients, setup.pool),
        X_(repeat_row(setup.start, setup.problem.agents, hosted_)),
        V_(X_.agents(), X_.dim()),
        E_(X_.agents(), X_.dim()),
        zero_(X_.dim(), 0.0),
        messages_(X_.agents()) {}

  void step(std::uint32_t round) override {
    gradients_.estimate(hosted_, X_, round, V_);  // G, in the place of V
    for_each_agent(pool_, hosted_, [&](std::size_t agent) { send(agent, round); });
    if (exchange_) collect(round);
    for (const auto agent : hosted_)
      traffic_.add(messages_[agent].payload.size(), graph_.degree(agent));
    for_each_tile(pool_, hosted_, X_.dim(), [&](const Tile& tile) {
      for (const auto& [sender, weight] : incoming_[tile.agent])
        add_decoded(gamma_ * weight, messages_[sender], tile.first, tile.of(X_.row(tile.agent)));
    });
  }

  const Rows& iterates() const override { return X_; }
  Traffic& traffic() override { return traffic_; }
  std::vector<NamedRows> state() override {
    std::vector<NamedRows> state = {{"X", &X_}, {"E", &E_}};
    gradients_.append_state(state);
    return state;
  }

 private:
  void send(std::size_t agent, std::uint32_t round) {
    const auto x = X_.row(agent), v = V_.row(agent), e = E_.row(agent);
    axpy(-eta_, v, x);                                              // X <- X - eta G
    for (std::size_t j = 0; j < v.size(); ++j) v[j] = x[j] + e[j];  // V <- X + E
    compress_difference(compressor_, v, zero_, stream(agent, round), messages_[agent]);
    check_sent(messages_[agent].decoded, bound_, agent, round);
    std::copy(v.begin(), v.end(), e.begin());
    add_decoded(-1.0, messages_[agent], e);  // E <- V - C(V)
    if (!exchange_) return;
    const std::span<const std::byte> vector = messages_[agent].payload;
    exchange_->post(round, static_cast<std::uint32_t>(agent), {.vectors = {&vector, 1}});
  }

  void collect(std::uint32_t round) {
    exchange_->collect(round, 1, [&](const Exchange::Incoming& message) {
      const auto sender = message.sender;
      compressor_.decode(message.vectors[0], X_.dim(), stream(sender, round),
                         messages_[sender].decoded);
      check_received(messages_[sender].decoded, bound_, round);
    });
  }

  RngStream stream(std::size_t sender, std::uint32_t round) const {
    return {seed_, Draw::compress_x, static_cast<std::uint32_t>(sender), round};
  }

  const Compressor& compressor_;
  const Graph& graph_;
  std::vector<std::vector<MixingWeight>> incoming_;
  ThreadPool& pool_;
  std::vector<std::uint32_t> hosted_;  // the agents that are computed here
  Exchange* exchange_;
  std::uint64_t seed_;
  double eta_, gamma_, bound_;
  GradientEstimator gradients_;
  Rows X_, V_, E_;
  std::vector<double> zero_;
  std::vector<Message> messages_;
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<Algorithm> make_deepsqueeze(const AlgorithmSetup& setup) {
  return std::make_unique<Deepsqueeze>(setup);
}

}  // namespace porter
