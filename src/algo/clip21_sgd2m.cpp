// SPDX-License-Identifier: Apache-2.0
// Clip21-SGD2M (Islamov, Horvath, Lucchi, Richtarik, Gorbunov: Double Momentum and Error Feedback
// for Clipping with Fast Rates and Differential Privacy, 2025) without noise: a server, and clients
// that send how far the server's knowledge of their gradient is off, clipped.
//
//   v_i <- (1 - beta) v_i + beta grad f_i(x);   c_i = clip(v_i - g_i);   g_i <- g_i + hat beta c_i
//   g <- g + hat beta mean c;   x <- x - eta g
//
// What is clipped goes to zero, so that clipping does not bias where x rests, unlike that of
// gradients. The paper also adds noise to c_i. A record that was drawn once stays in v_i, and so in
// every later c_i: replacing it may change each of them by 2 tau, however large the batches, and
// sampling hides nothing. Our accountant charges sampled and clipped records, so no noise here.
//
// clang-format off
// | paper         | code            | meaning
// |---------------|-----------------|-----------------------------------------------------------
// | x             | server_         | the server's iterate
// | v_i           | V_, c_i after   | low-passed gradient of client i, in gradients_
// | g_i, g        | S_, s_mean_     | what the server knows of v_i, and the mean of it
// | c_i           | in server_      | clip(v_i - g_i), as floats
// | beta,hat beta | -, shift_       | momentum, inside gradients_; step of g_i
// clang-format on
#include "core/vector_math.hpp"
#include "methods.hpp"
#include "porter/core/error.hpp"
#include "server.hpp"
#include "team.hpp"

namespace porter {
namespace {

GradientOptions unclipped(GradientOptions options) {
  options.clip = {};
  options.noise_stddev = 0;
  return options;
}

class Clip21Sgd2m final : public Algorithm {
 public:
  explicit Clip21Sgd2m(const AlgorithmSetup& setup)
      : compressor_(setup.compressor),
        team_(setup),
        seed_(setup.gradients.seed),
        clip_(setup.gradients.clip),
        eta_(setup.eta),
        shift_(setup.soteriafl.shift),
        gradients_(setup.problem, unclipped(setup.gradients), setup.pool),
        server_(setup.start, setup.problem.agents),
        V_(setup.problem.agents, setup.start.size()),
        S_(V_),
        s_mean_(1, V_.dim()),
        zero_(V_.dim(), 0.0) {
    require(shift_ > 0 && shift_ <= 1, ErrorKind::usage,
            "algorithm.shift: clip21-sgd2m needs a number in (0, 1], found ", shift_);
  }

  void step(std::uint32_t round) override {
    gradients_.estimate(server_.broadcast, round, V_);  // v_i, at the common x
    team_.for_each([&](std::size_t client) { send(client, round); });
    axpy(shift_, server_.mean_message(), s_mean_.row(0));  // g <- g + hat beta mean c
    axpy(-eta_, s_mean_.row(0), server_.x.row(0));         // x <- x - eta g
    server_.answer();
  }

  const Rows& iterates() const override { return server_.broadcast; }
  Traffic& traffic() override { return server_.traffic; }
  std::vector<NamedRows> state() override {
    return state_of({{"S", &S_}, {"s_mean", &s_mean_}}, server_, gradients_);
  }

 private:
  // c_i = clip(v_i - g_i);  g_i <- g_i + hat beta c_i
  void send(std::size_t client, std::uint32_t round) {
    const auto v = V_.row(client), s = S_.row(client);
    const RngStream rng(seed_, Draw::compress_v, static_cast<std::uint32_t>(client), round);
    auto& message = server_.messages[client];
    axpy(-1.0, s, v);
    clip_.apply(v);
    compress_difference(compressor_, v, zero_, rng, message, false);
    add_decoded(shift_, message, s);
  }

  const Compressor& compressor_;
  Team team_;
  std::uint64_t seed_;
  Clip clip_;
  double eta_, shift_;
  GradientEstimator gradients_;
  Server server_;
  Rows V_, S_, s_mean_;
  std::vector<double> zero_;
};

}  // namespace

std::unique_ptr<Algorithm> make_clip21_sgd2m(const AlgorithmSetup& setup) {
  return std::make_unique<Clip21Sgd2m>(setup);
}

}  // namespace porter
