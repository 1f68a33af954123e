// SPDX-License-Identifier: Apache-2.0
// The methods whose messages are about X alone (src/algo/choco_sgd.cpp, src/algo/dsgd.cpp).
#pragma once

#include "device_method.hpp"

namespace porter::cuda {

/// X <- X - eta G
struct GradientStep {
  double eta;
  double* X;
  PORTER_DEVICE void operator()(std::size_t at, const double*, double g) const {
    X[at] += -eta * g;
  }
};
/// X <- X + gamma (W - I)^T Q
struct GossipStep {
  double gamma;
  double* X;
  PORTER_DEVICE void operator()(std::size_t at, const double* gap, double) const {
    X[at] += gamma * gap[0];
  }
};
/// X <- X + (W - I)^T Q - eta G
struct DsgdStep {
  double eta;
  double* X;
  PORTER_DEVICE void operator()(std::size_t at, const double* gap, double g) const {
    const double moved = X[at] + gap[0];
    X[at] = moved + -eta * g;
  }
};

/// choco-sgd takes its gradient step before it sends, dsgd while messages travel.
class DeviceSgd final : public Algorithm {
 public:
  enum class Kind { choco, dsgd };

  DeviceSgd(Kind kind, const AlgorithmSetup& setup, const Request& request,
            std::unique_ptr<Device> device)
      : kind_(kind),
        eta_(setup.eta),
        gamma_(kind == Kind::dsgd ? 1 : setup.gamma),
        clock_{setup.gossip},
        team_(setup, request, std::move(device), DeviceGossip<double>::size(setup, 1, 1)),
        X_(team_.state().add("X", setup.start)),
        gossip_(setup, request, team_, Draw::compress_x, {{.is_iterate = true}}) {}

  void step(std::uint32_t round) override {
    team_.state().start_step();
    double* const X = X_.data();
    if (kind_ == Kind::choco) {
      team_.estimate(X, round);
      team_.update(GapView<double>{}, true, GradientStep{eta_, X});
    }
    for (auto step = clock_.first(round); step <= clock_.last(round); ++step) {
      gossip_.publish(step, X);
      if (kind_ == Kind::dsgd && step == clock_.first(round)) {
        team_.estimate(X, round);
        team_.update(gossip_.gaps(), true, DsgdStep{eta_, X});
      } else {
        team_.update(gossip_.gaps(), false, GossipStep{gamma_, X});
      }
      gossip_.check();
    }
  }

  const Rows& iterates() const override { return team_.state().wide_rows(X_); }
  Traffic& traffic() override { return gossip_.traffic(); }
  std::vector<NamedRows> state() override { return team_.state().lend(); }

 private:
  Kind kind_;
  double eta_, gamma_;
  DeviceClock clock_;
  DeviceTeam<double> team_;
  DeviceState<double>::Matrix& X_;
  DeviceGossip<double> gossip_;
};

}  // namespace porter::cuda
