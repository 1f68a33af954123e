// SPDX-License-Identifier: Apache-2.0
// The methods that mix exactly on the coordinates of a public sweep (src/algo/porter_sweep.cpp,
// src/algo/sweep_led.cpp).
#pragma once

#include "algo/led_correction.hpp"
#include "device_method.hpp"

namespace porter::cuda {

/// X <- X - eta (U + M), where M becomes the released gradient.
struct SweepStep {
  double eta;
  double *X, *U, *M;
  PORTER_DEVICE void operator()(std::size_t at, const double*, double g) const {
    M[at] = g;
    X[at] -= eta * (U[at] + g);
  }
};
/// X <- X - eta (M - H)
struct LedStep {
  double eta;
  double *X, *H;
  PORTER_DEVICE void operator()(std::size_t at, const double*, double g) const {
    X[at] -= eta * (g - H[at]);
  }
};

/// Messages of porter-sweep: V = U + M, and X.
struct SweepSource {
  std::uint32_t stride;
  const double *U, *M, *X;
  PORTER_DEVICE float value(std::uint32_t channel, std::size_t agent, std::uint32_t j) const {
    const std::size_t at = agent * stride + j;
    return static_cast<float>(channel == 0 ? U[at] + M[at] : X[at]);
  }
  PORTER_DEVICE void sent(std::uint32_t, std::size_t, std::uint32_t, float) const {}
};
/// Of sweep-led: X.
struct LedSource {
  std::uint32_t stride;
  const double* X;
  PORTER_DEVICE float value(std::uint32_t, std::size_t agent, std::uint32_t j) const {
    return static_cast<float>(X[agent * stride + j]);
  }
  PORTER_DEVICE void sent(std::uint32_t, std::size_t, std::uint32_t, float) const {}
};

/// Block (agent, piece): U_J and X_J move by the messages of the step, senders in order.
struct SweepMixKernel {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kPiece = 1024;

  Mail mail;
  Incoming in;
  std::uint32_t swept, stride;
  double *U, *X;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::uint32_t first = block.y * kPiece;
    block.each(swept - first < kPiece ? swept - first : kPiece, [&](std::uint32_t offset) {
      const std::uint32_t i = first + offset;
      const std::size_t at = std::size_t{block.x} * stride + mail.positions[i];
      double u = U[at], x = X[at];
      for (std::uint32_t e = in.starts[block.x]; e < in.starts[block.x + 1]; ++e) {
        const std::size_t number = mail.number(in.senders[e], 0);
        u += in.weights[e] * double{mail.values_of(number)[i]};
        x += in.weights[e] * double{mail.values_of(number + 1)[i]};
      }
      U[at] = u;
      X[at] = x;
    });
  }
};

/// Block (agent, piece): what gossip repairs moves X_J, and teaches H_J.
struct LedMixKernel {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kPiece = 1024;

  Mail mail;
  Incoming in;
  std::uint32_t swept, stride;
  double c_per_eta, c_per_drift;
  const std::uint32_t* is_dense;  ///< of each coordinate: visited in every step
  double *H, *X;

  PORTER_DEVICE void operator()(const Block& block) const {
    const std::uint32_t first = block.y * kPiece;
    block.each(swept - first < kPiece ? swept - first : kPiece, [&](std::uint32_t offset) {
      const std::uint32_t i = first + offset, j = mail.positions[i];
      const std::size_t at = std::size_t{block.x} * stride + j;
      double gap = 0;
      for (std::uint32_t e = in.starts[block.x]; e < in.starts[block.x + 1]; ++e)
        gap += in.weights[e] * double{mail.values_of(mail.number(in.senders[e], 0))[i]};
      H[at] += (is_dense[j] != 0 ? c_per_eta : c_per_drift) * gap;
      X[at] += gap;
    });
  }
};

class DevicePorterSweep final : public Algorithm {
 public:
  DevicePorterSweep(const AlgorithmSetup& setup, const Request& request,
                    std::unique_ptr<Device> device)
      : eta_(setup.eta),
        clock_{setup.gossip},
        team_(setup, request, std::move(device), {3, 2, Mask::sweep}),
        X_(team_.state().add("X", setup.start)),
        U_(team_.state().add("U")),
        M_(team_.momentum() ? *team_.momentum() : team_.state().add("M")),
        link_(team_.device(), setup, request, Mask::sweep, Draw::compress_v,
              {{.is_iterate = false}, {.is_iterate = true}}) {}

  void step(std::uint32_t round) override {
    team_.state().start_step();
    double *const X = X_.data(), *const U = U_.data(), *const M = M_.data();
    team_.estimate(X, round);
    team_.update(GapView<double>{}, true, SweepStep{eta_, X, U, M});
    for (auto step = clock_.first(round); step <= clock_.last(round); ++step) {
      link_.send(step, SweepSource{team_.stride(), U, M, X});
      using Mix = SweepMixKernel;
      team_.device().launch(
          {team_.agents(), (link_.swept() + Mix::kPiece - 1) / Mix::kPiece}, 0,
          Mix{link_.mail(), link_.incoming(), link_.swept(), team_.stride(), U, X});
      link_.check();
    }
  }

  const Rows& iterates() const override { return team_.state().wide_rows(X_); }
  std::optional<double> tracking_error() const override { return team_.state().mean_norm(U_); }
  Traffic& traffic() override { return link_.traffic(); }
  /// The low-pass has its own name there, too, with momentum.
  std::vector<NamedRows> state() override {
    auto all = team_.state().lend();
    if (team_.momentum())
      all.push_back(*std::ranges::find(all, std::string("M"), &NamedRows::name));
    return all;
  }

 private:
  using Matrix = DeviceState<double>::Matrix;

  double eta_;
  DeviceClock clock_;
  DeviceTeam<double> team_;
  Matrix &X_, &U_, &M_;
  DeviceLink link_;
};

class DeviceSweepLed final : public Algorithm {
 public:
  DeviceSweepLed(const AlgorithmSetup& setup, const Request& request,
                 std::unique_ptr<Device> device)
      : eta_(setup.eta),
        c_per_eta_(led_correction(setup, kSweepLedCorrection) / setup.eta),
        clock_{setup.gossip},
        team_(setup, request, std::move(device), {2, 1, Mask::sweep}),
        X_(team_.state().add("X", setup.start)),
        H_(team_.state().add("H")),
        link_(team_.device(), setup, request, Mask::sweep, Draw::compress_x,
              {{.is_iterate = true}}) {
    std::vector<std::uint32_t> flags(team_.dim());
    for (const auto j : setup.dense) flags[j] = 1;
    is_dense_ = {team_.device(), std::span<const std::uint32_t>(flags)};
  }

  void step(std::uint32_t round) override {
    team_.state().start_step();
    double *const X = X_.data(), *const H = H_.data();
    team_.estimate(X, round);
    team_.update(GapView<double>{}, true, LedStep{eta_, X, H});
    for (auto step = clock_.first(round); step <= clock_.last(round); ++step) {
      link_.send(step, LedSource{team_.stride(), X});
      const double L = link_.sweep().rounds_since_visit(step, clock_.steps);
      using Mix = LedMixKernel;
      team_.device().launch({team_.agents(), (link_.swept() + Mix::kPiece - 1) / Mix::kPiece}, 0,
                            Mix{link_.mail(), link_.incoming(), link_.swept(), team_.stride(),
                                c_per_eta_, c_per_eta_ / L, is_dense_.data(), H, X});
      link_.check();
    }
  }

  const Rows& iterates() const override { return team_.state().wide_rows(X_); }
  std::optional<double> tracking_error() const override { return team_.state().mean_norm(H_); }
  Traffic& traffic() override { return link_.traffic(); }
  std::vector<NamedRows> state() override { return team_.state().lend(); }

 private:
  using Matrix = DeviceState<double>::Matrix;

  double eta_, c_per_eta_;
  DeviceClock clock_;
  DeviceTeam<double> team_;
  Matrix &X_, &H_;
  DeviceLink link_;
  Array<std::uint32_t> is_dense_;
};

}  // namespace porter::cuda
