// SPDX-License-Identifier: Apache-2.0
// SoteriaFL (Li, Zhao, Li, Chi: SoteriaFL: A Unified Framework for Private Federated Learning with
// Communication Compression, 2022): a server, and clients that send compressed shifted gradients.
// With stochastic gradients it is SoteriaFL-SGD, with snapshot-corrected ones SoteriaFL-SVRG, and
// without shifts CDP-SGD (direct compression) or, with nothing compressed, LDP-SGD.
//
// clang-format off
// | paper   | code            | meaning
// |---------|-----------------|--------------------------------------------------------------
// | x       | x_, broadcast_  | the server's iterate (double), and as clients get it (float)
// | g_i     | G_              | clipped and noised gradient of client i at x
// | s_i, s  | S_, s_mean_     | shift of client i, and the mean of the shifts
// | v_i     | messages_       | C(g_i - s_i)
// | gamma_t | shift_          | step of the shifts
// clang-format on
#include "core/vector_math.hpp"
#include "message.hpp"
#include "methods.hpp"
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
        x_(repeat_row(setup.start, 1)),
        broadcast_(x_),
        G_(setup.problem.agents, x_.dim()),
        S_(G_),
        s_mean_(1, x_.dim()),
        messages_(G_.agents()) {
    broadcast();
  }

  void step(std::uint32_t round) override {
    gradients_.estimate(broadcast_, round, G_);  // g_i, clipped and noised, at the common x
    team_.for_each([&](std::size_t client) { send(client, round); });

    const auto v_mean = mean_message();
    axpy(-eta_, s_mean_.row(0), x_.row(0));  // x <- x - eta (s + mean v)
    axpy(-eta_, v_mean, x_.row(0));
    axpy(shift_, v_mean, s_mean_.row(0));  // s <- s + gamma mean v
    broadcast();
    count_traffic();
  }

  const Rows& iterates() const override { return broadcast_; }
  Traffic& traffic() override { return traffic_; }

  std::vector<NamedRows> state() override {
    return state_of({{"x", &x_}, {"broadcast", &broadcast_}, {"S", &S_}, {"s_mean", &s_mean_}},
                    gradients_);
  }

 private:
  // v_i = C(g_i - s_i);  s_i <- s_i + gamma v_i
  void send(std::size_t client, std::uint32_t round) {
    const RngStream rng(seed_, Draw::compress_v, static_cast<std::uint32_t>(client), round);
    compress_difference(compressor_, G_.row(client), S_.row(client), rng, messages_[client]);
    add_decoded(shift_, messages_[client], S_.row(client));
  }

  std::vector<double> mean_message() const {
    std::vector<double> mean(x_.dim(), 0.0);
    const double weight = 1.0 / static_cast<double>(messages_.size());
    for (const auto& message : messages_) add_decoded(weight, message, mean);
    return mean;
  }

  void broadcast() {
    for (std::size_t j = 0; j < x_.dim(); ++j)
      broadcast_.row(0)[j] = static_cast<float>(x_.row(0)[j]);
  }

  void count_traffic() {
    for (const auto& message : messages_) {
      traffic_.message_bytes += message.payload.size();
      traffic_.link_bytes += message.payload.size() + sizeof(float) * x_.dim();
    }
  }

  const Compressor& compressor_;
  Team team_;
  std::uint64_t seed_;
  double eta_, shift_;
  Gradients gradients_;
  Rows x_, broadcast_, G_, S_, s_mean_;
  std::vector<Message> messages_;
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<Algorithm> make_soteriafl_sgd(const AlgorithmSetup& setup) {
  return std::make_unique<Soteriafl<StochasticGradients>>(setup);
}

std::unique_ptr<Algorithm> make_soteriafl_svrg(const AlgorithmSetup& setup) {
  return std::make_unique<Soteriafl<SvrgGradients>>(setup);
}

}  // namespace porter
