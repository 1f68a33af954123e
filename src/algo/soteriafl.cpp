// SPDX-License-Identifier: Apache-2.0
// SoteriaFL (Li, Zhao, Li, Chi: SoteriaFL: A Unified Framework for Private Federated Learning with
// Communication Compression, 2022): a server, and clients that send compressed shifted gradients.
// With stochastic gradients it is SoteriaFL-SGD, with snapshot-corrected ones SoteriaFL-SVRG, and
// without shifts CDP-SGD (direct compression) or, with nothing compressed, LDP-SGD.
//
// clang-format off
// | paper   | code            | meaning
// |---------|-----------------|--------------------------------------------------------------
// | x       | server_         | the server's iterate
// | g_i     | G_              | clipped and noised gradient of client i at x
// | s_i, s  | S_, s_mean_     | shift of client i, and the mean of the shifts
// | v_i     | in server_      | C(g_i - s_i)
// | gamma_t | shift_          | step of the shifts
// clang-format on
#include "core/vector_math.hpp"
#include "methods.hpp"
#include "server.hpp"
#include "svrg_gradients.hpp"
#include "team.hpp"

namespace porter {
namespace {

struct StochasticGradients : GradientEstimator {
  explicit StochasticGradients(const AlgorithmSetup& setup)
      : GradientEstimator(setup.problem, setup.gradients, setup.pool) {}
};

// `Gradients` has estimate(x, round, G) and append_state(state).
template <class Gradients>
class Soteriafl final : public Algorithm {
 public:
  explicit Soteriafl(const AlgorithmSetup& setup)
      : compressor_(setup.compressor),
        team_(setup),
        seed_(setup.gradients.seed),
        eta_(setup.eta),
        shift_(setup.soteriafl.shift),
        gradients_(setup),
        server_(setup.start, setup.problem.agents),
        G_(setup.problem.agents, setup.start.size()),
        S_(G_),
        s_mean_(1, G_.dim()) {}

  void step(std::uint32_t round) override {
    gradients_.estimate(server_.broadcast, round, G_);  // g_i, clipped and noised, at the common x
    team_.for_each([&](std::size_t client) { send(client, round); });

    const auto v_mean = server_.mean_message();
    const auto x = server_.x.row(0);
    axpy(-eta_, s_mean_.row(0), x);  // x <- x - eta (s + mean v)
    axpy(-eta_, v_mean, x);
    axpy(shift_, v_mean, s_mean_.row(0));  // s <- s + gamma mean v
    server_.answer();
  }

  const Rows& iterates() const override { return server_.broadcast; }
  Traffic& traffic() override { return server_.traffic; }
  std::vector<NamedRows> state() override {
    return state_of({{"S", &S_}, {"s_mean", &s_mean_}}, server_, gradients_);
  }

 private:
  // v_i = C(g_i - s_i);  s_i <- s_i + gamma v_i
  void send(std::size_t client, std::uint32_t round) {
    const RngStream rng(seed_, Draw::compress_v, static_cast<std::uint32_t>(client), round);
    auto& message = server_.messages[client];
    compress_difference(compressor_, G_.row(client), S_.row(client), rng, message, false);
    add_decoded(shift_, message, S_.row(client));
  }

  const Compressor& compressor_;
  Team team_;
  std::uint64_t seed_;
  double eta_, shift_;
  Gradients gradients_;
  Server server_;
  Rows G_, S_, s_mean_;
};

}  // namespace

std::unique_ptr<Algorithm> make_soteriafl_sgd(const AlgorithmSetup& setup) {
  return std::make_unique<Soteriafl<StochasticGradients>>(setup);
}

std::unique_ptr<Algorithm> make_soteriafl_svrg(const AlgorithmSetup& setup) {
  return std::make_unique<Soteriafl<SvrgGradients>>(setup);
}

}  // namespace porter
