// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device_gradients.hpp"
#include "device_link.hpp"
#include "device_state.hpp"
#include "update.hpp"

namespace porter::cuda {

/// What a method's own vectors need of the device, before it is built.
struct MethodSize {
  std::size_t matrices, channels;
  Mask mask;
};

/// Device, gradients and state: what every method here has.
template <class Real>
class DeviceTeam {
 public:
  DeviceTeam(const AlgorithmSetup& setup, const Request& request, std::unique_ptr<Device> device,
             const MethodSize& size)
      : device_(with_room(setup, request, std::move(device), size)),
        agents_(setup.problem.agents),
        dim_(static_cast<std::uint32_t>(setup.start.size())),
        seed_(setup.gradients.seed),
        sigma_(setup.gradients.noise_stddev),
        momentum_(setup.gradients.momentum),
        state_(*device_, agents_, dim_),
        gradients_(*device_, setup, request, state_.stride()),
        M_(momentum_ == 1 ? nullptr : &state_.add("M")) {}

  const Device& device() const { return *device_; }
  DeviceState<Real>& state() { return state_; }
  const DeviceState<Real>& state() const { return state_; }
  std::uint32_t stride() const { return state_.stride(); }
  std::uint32_t dim() const { return dim_; }
  std::size_t agents() const { return agents_; }
  typename DeviceState<Real>::Matrix* momentum() const { return M_; }

  /// The gradients of a round at X, for `update`.
  void estimate(const Real* X, std::uint32_t round) {
    gradients_.compute(X, round);
    release_ = {gradients_.view(X), seed_, round, sigma_, momentum_, M_ ? M_->data() : nullptr};
  }
  template <class Rule>
  void update(const GapView<Real>& gaps, bool with_gradient, const Rule& rule) const {
    using Kernel = RuleKernel<Real, Rule>;
    auto release = release_;
    if (!with_gradient) release.gradient.kind = Gradient<Real>::Kind::none;
    device_->launch({agents_, (dim_ + Kernel::kTile - 1) / Kernel::kTile},
                    Kernel::bytes(gaps.mail.channels),
                    Kernel{gaps, release, rule, dim_, state_.stride()});
  }

 private:
  static std::unique_ptr<Device> with_room(const AlgorithmSetup& setup, const Request& request,
                                           std::unique_ptr<Device> device, const MethodSize& size) {
    const std::size_t dim = setup.start.size(), stride = DeviceState<Real>::stride_of(dim);
    const std::size_t matrices = size.matrices + (setup.gradients.momentum == 1 ? 0 : 1);
    expect_room(*device, setup.problem.agents, dim,
                matrices * stride * sizeof(Real) +
                    DeviceLink::bytes_per_agent(*device, setup, request, size.mask, size.channels) +
                    DeviceGradients<Real>::bytes_per_agent(setup, request,
                                                           static_cast<std::uint32_t>(stride)),
                DeviceGradients<Real>::data_bytes(setup, request));
    return device;
  }

  std::unique_ptr<Device> device_;  // before, and so after, all that is on it
  std::size_t agents_;
  std::uint32_t dim_;
  std::uint64_t seed_;
  double sigma_, momentum_;
  DeviceState<Real> state_;
  DeviceGradients<Real> gradients_;
  typename DeviceState<Real>::Matrix* M_;
  Release<Real> release_{};
};

/// Gossip of a device (src/algo/gossip.hpp): messages that move surrogates Q, and their gaps.
template <class Real>
class DeviceGossip {
 public:
  using Matrix = typename DeviceState<Real>::Matrix;

  /// The team outlives it. Channels that are iterates start at the setup's x0.
  DeviceGossip(const AlgorithmSetup& setup, const Request& request, DeviceTeam<Real>& team,
               Draw draw, const std::vector<DeviceChannel>& channels)
      : team_(team),
        link_(team.device(), setup, request, setup.mask, draw, channels),
        stores_gaps_(stores_gaps(setup)) {
    for (std::size_t c = 0; c < channels.size(); ++c) {
      const auto start =
          channels[c].is_iterate ? std::span<const double>(setup.start) : std::span<const double>();
      Q_[c] = &team.state().add(concat("Q", c), start, true);
      if (stores_gaps_) R_[c] = &team.state().add(concat("gap", c));
    }
  }

  static bool stores_gaps(const AlgorithmSetup& setup) {
    const std::size_t dim = setup.start.size();
    return should_store_gaps<Real>(setup.problem.agents, setup.compressor.kept(dim).value_or(dim),
                                   dim);
  }
  static MethodSize size(const AlgorithmSetup& setup, std::size_t matrices, std::size_t channels) {
    return {matrices + channels * (stores_gaps(setup) ? 2 : 1), channels, setup.mask};
  }

  /// Q <- Q + C(S - Q), a vector for each channel.
  void publish(std::uint32_t step, const Real* first, const Real* second = nullptr) {
    step_ = step;
    link_.send(step, Difference<Real>{team_.stride(),
                                      {first, second},
                                      {Q_[0]->data(), Q_[1] ? Q_[1]->data() : nullptr}});
  }
  /// Of the step.
  GapView<Real> gaps() const {
    using Kind = typename GapView<Real>::Kind;
    const bool rebuilds = sizeof(Real) < sizeof(double) && step_ % kRebuildPeriod == 0;
    const auto data = [](const Matrix* matrix) { return matrix ? matrix->data() : nullptr; };
    return {!stores_gaps_ ? Kind::summed
            : rebuilds    ? Kind::rebuilt
                          : Kind::stored,
            link_.mail(),
            link_.incoming(),
            team_.stride(),
            {data(Q_[0]), data(Q_[1])},
            {data(R_[0]), data(R_[1])}};
  }
  void check() const { link_.check(); }
  Matrix& Q(std::size_t channel) const { return *Q_[channel]; }
  Traffic& traffic() { return link_.traffic(); }

 private:
  DeviceTeam<Real>& team_;
  DeviceLink link_;
  bool stores_gaps_;
  std::uint32_t step_ = 0;
  Matrix* Q_[2] = {};
  Matrix* R_[2] = {};
};

/// Gossip steps of a round, counted through from 1.
struct DeviceClock {
  std::uint32_t steps;

  std::uint32_t first(std::uint32_t round) const { return (round - 1) * steps + 1; }
  std::uint32_t last(std::uint32_t round) const { return round * steps; }
};

}  // namespace porter::cuda
