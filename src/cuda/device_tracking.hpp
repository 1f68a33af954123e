// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algo/porter_entry.hpp"
#include "device_method.hpp"

namespace porter::cuda {

/// Lines 12 and 14 of Algorithm 1.
template <class Real>
struct TrackingStep {
  Real gamma, eta;
  Real *X, *U, *V;
  PORTER_DEVICE void operator()(std::size_t at, const Real* gap, Real g) const {
    Real u = U[at], x = X[at], v = g;
    porter_entry(gamma, eta, gap[0], gap[kTileSize], u, v, x);
    U[at] = u;
    V[at] = v;
    X[at] = x;
  }
};
/// The same of a further gossip step, without a gradient.
template <class Real>
struct TrackingGossip {
  Real gamma;
  Real *X, *U, *V;
  PORTER_DEVICE void operator()(std::size_t at, const Real* gap, Real) const {
    U[at] += gamma * gap[0];
    V[at] += gamma * gap[0];
    X[at] += gamma * gap[kTileSize];
  }
};

/// PORTER, BEER, MoTEF and DSGT (src/algo/porter.cpp) with any compressor, mask and momentum.
/// DevicePorter is the faster one where messages are random_k or dense.
template <class Real>
class DeviceTracking final : public Algorithm {
 public:
  DeviceTracking(const AlgorithmSetup& setup, const Request& request,
                 std::unique_ptr<Device> device)
      : eta_(static_cast<Real>(setup.eta)),
        gamma_(static_cast<Real>(setup.gamma)),
        clock_{setup.gossip},
        team_(setup, request, std::move(device), DeviceGossip<Real>::size(setup, 3, 2)),
        X_(team_.state().add("X", setup.start)),
        V_(team_.state().add("V")),
        U_(team_.state().add("U")),
        gossip_(setup, request, team_, Draw::compress_v,
                {{.is_iterate = false}, {.is_iterate = true}}) {
    static_assert(static_cast<int>(Draw::compress_x) == static_cast<int>(Draw::compress_v) + 1);
  }

  void step(std::uint32_t round) override {
    team_.state().start_step();
    Real *const X = X_.data(), *const U = U_.data(), *const V = V_.data();
    for (auto step = clock_.first(round); step <= clock_.last(round); ++step) {
      gossip_.publish(step, V, X);
      if (step == clock_.first(round)) {
        team_.estimate(X, round);
        team_.update(gossip_.gaps(), true, TrackingStep<Real>{gamma_, eta_, X, U, V});
      } else {
        team_.update(gossip_.gaps(), false, TrackingGossip<Real>{gamma_, X, U, V});
      }
      gossip_.check();
    }
  }

  const Rows& iterates() const override { return team_.state().wide_rows(X_); }
  std::optional<double> tracking_error() const override { return team_.state().mean_norm(U_); }
  const Rows* published_trackers() const override {
    if constexpr (std::is_same_v<Real, double>) return &team_.state().rows(gossip_.Q(0));
    return nullptr;
  }
  Traffic& traffic() override { return gossip_.traffic(); }
  std::vector<NamedRows> state() override { return team_.state().lend(); }

 private:
  using Matrix = typename DeviceState<Real>::Matrix;

  Real eta_, gamma_;
  DeviceClock clock_;
  DeviceTeam<Real> team_;
  Matrix &X_, &V_, &U_;
  DeviceGossip<Real> gossip_;
};

}  // namespace porter::cuda
