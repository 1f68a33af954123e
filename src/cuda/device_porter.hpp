// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>

#include "algo/bounds.hpp"
#include "algo/gaps.hpp"
#include "core/vector_math.hpp"
#include "device_gradients.hpp"

namespace porter::cuda {

/// A matrix of the state: on the device, and on the host where somebody asks for it.
template <class Real>
struct DeviceRows {
  Array<Real> values;
  BasicRows<Real> copy = {};

  void upload(const Device& device, std::size_t stride) const {
    device.upload_rows(values.data(), copy.row(0).data(), pitch(stride), copy.dim() * sizeof(Real),
                       copy.agents());
  }
  void download(const Device& device, std::size_t agents, std::size_t dim, std::size_t stride) {
    if (copy.agents() == 0) copy = BasicRows<Real>(agents, dim);
    device.download_rows(copy.row(0).data(), values.data(), pitch(stride), dim * sizeof(Real),
                         agents);
  }

 private:
  Device::Pitch pitch(std::size_t stride) const {
    return {stride * sizeof(Real), copy.stride() * sizeof(Real)};
  }
};

/// PORTER and BEER (src/algo/porter.cpp) on a device, with the same bits. A round is some kernels:
///   MaskKernel       the coordinates that travel
///   PublishKernel    lines 11 and 13: Q_v <- Q_v + C(V - Q_v), Q_x <- Q_x + C(X - Q_x)
///   DeviceGradients  lines 4 to 10 without the noise
///   MixKernel        gaps, noise, lines 12 and 14
template <class Real>
class DevicePorter final : public Algorithm {
 public:
  DevicePorter(const AlgorithmSetup& setup, const Request& request, std::unique_ptr<Device> device)
      : device_(std::move(device)),
        agents_(setup.problem.agents),
        dim_(static_cast<std::uint32_t>(setup.start.size())),
        stride_((dim_ + 63) / 64 * 64),
        kept_(static_cast<std::uint32_t>(setup.compressor.kept(dim_).value_or(dim_))),
        gossip_(setup.gossip),
        seed_(setup.gradients.seed),
        eta_(static_cast<Real>(setup.eta)),
        gamma_(static_cast<Real>(setup.gamma)),
        sigma_(setup.gradients.noise_stddev),
        sparse_(setup.compressor.kept(dim_).has_value()),
        same_mask_(setup.mask != Mask::own),
        stores_gaps_(should_store_gaps(agents_, kept_, dim_)) {
    expect_room(setup, request);
    const auto bounds = public_bounds(setup);
    bounds_[0] = bounds.tracker;
    bounds_[1] = bounds.iterate;
    connect(setup.neighbours());
    for (const auto& [name, rows] : matrices()) rows->values = {*device_, agents_ * stride_};
    X_.copy = Q_[1].copy = repeat_row<Real>(setup.start, agents_);
    X_.upload(*device_, stride_);
    Q_[1].upload(*device_, stride_);
    values_ = {*device_, 2 * agents_ * kept_};
    norms_ = {*device_, 2 * agents_};
    if (sparse_) {
      positions_ = {*device_, 2 * agents_ * kept_};
      starts_ = {*device_, 2 * agents_ * (tiles() + 1)};
      if (const auto bytes = mask_kernel(0).bytes(); bytes > device_->block_memory())
        scratch_ = {*device_, 2 * agents_ * (bytes / sizeof(std::uint32_t))};
    }
    flag_.reset(static_cast<std::uint32_t*>(device_->allocate_on_host(sizeof(std::uint32_t))));
    gradients_ = std::make_unique<DeviceGradients<Real>>(*device_, setup, request, stride_);
  }

  void step(std::uint32_t round) override {
    if (std::exchange(lent_, false))
      for (const auto& [name, rows] : matrices()) rows->upload(*device_, stride_);
    const std::uint32_t first = (round - 1) * gossip_ + 1;
    for (std::uint32_t number = first; number < first + gossip_; ++number)
      gossip_step(number, round, number == first);
    fresh_ = false;
  }

  const Rows& iterates() const override {
    if (!fresh_ && !lent_) download(X_);
    fresh_ = true;
    if constexpr (std::is_same_v<Real, double>) {
      return X_.copy;
    } else {
      if (wide_X_.agents() == 0) wide_X_ = Rows(agents_, dim_);
      for (std::size_t i = 0; i < agents_; ++i) widen(X_.copy.row(i), wide_X_.row(i));
      return wide_X_;
    }
  }

  std::optional<double> tracking_error() const override {
    if (!lent_) download(U_);
    return std::sqrt(squared_norm(mean_row(U_.copy)));
  }

  const Rows* published_trackers() const override {
    if constexpr (std::is_same_v<Real, double>) {
      if (!lent_) download(Q_[0]);
      return &Q_[0].copy;
    }
    return nullptr;
  }

  Traffic& traffic() override { return traffic_; }

  /// The host has them then, for others to set, until the next step.
  std::vector<NamedRows> state() override {
    std::vector<NamedRows> all;
    for (const auto& [name, rows] : matrices()) {
      if (!lent_) download(*rows);
      all.push_back({.name = name, .rows = &rows->copy, .copied = name[0] == 'Q'});
    }
    lent_ = true;
    return all;
  }

  const Device& device() const { return *device_; }

 private:
  struct NamedMatrix {
    const char* name;
    DeviceRows<Real>* rows;
  };
  struct FreeOnHost {
    void operator()(std::uint32_t* memory) const { Device::free_on_host(memory); }
  };
  using Mix = MixKernel<Real>;
  static_assert(Mix::kTile == kTileSize);

  /// Under the names that checkpoints have.
  std::vector<NamedMatrix> matrices() {
    std::vector<NamedMatrix> all = {
        {"X", &X_}, {"V", &V_}, {"U", &U_}, {"Q0", &Q_[0]}, {"Q1", &Q_[1]}};
    if (stores_gaps_) all.insert(all.end(), {{"gap0", &gap_[0]}, {"gap1", &gap_[1]}});
    return all;
  }
  void download(DeviceRows<Real>& rows) const { rows.download(*device_, agents_, dim_, stride_); }
  std::uint32_t tiles() const { return (dim_ + Mix::kTile - 1) / Mix::kTile; }

  // Before anything is allocated: what an agent takes, and how many there is room for.
  void expect_room(const AlgorithmSetup& setup, const Request& request) const {
    const std::size_t matrix_count = stores_gaps_ ? 7 : 5;
    const std::size_t drawing = sparse_ ? mask_kernel(0).bytes() : 0;
    const std::size_t messages = 2 * std::size_t{kept_} * (sparse_ ? 8 : 4) + 8 * (tiles() + 1) +
                                 (drawing > device_->block_memory() ? 2 * drawing : 0);
    const std::size_t per_agent = matrix_count * stride_ * sizeof(Real) + messages +
                                  DeviceGradients<Real>::bytes_per_agent(setup, request, stride_);
    const std::size_t data = DeviceGradients<Real>::data_bytes(setup, request);
    constexpr std::size_t kSmallThings = 64 << 20;  // what CUDA itself takes, weights, norms
    const std::size_t free = device_->free_bytes();
    const std::size_t room = free > data + kSmallThings ? free - data - kSmallThings : 0;
    require(agents_ <= room / per_agent, ErrorKind::io,
            "run.engine = \"cuda\": out of memory on the device: ", agents_,
            " agents (network.agents) with a model of ", dim_, " parameters (model) take ",
            static_cast<double>(agents_ * per_agent + data) / 1e9, " GB, and ", device_->name(),
            " has ", static_cast<double>(free) / 1e9, " GB free: room for ", room / per_agent,
            " agents");
  }

  void connect(const Network& network) {
    std::vector<std::uint32_t> starts = {0}, senders;
    std::vector<double> weights;
    for (const auto& row : incoming_weights(network)) {
      for (const auto& [sender, weight] : row) {
        senders.push_back(sender);
        weights.push_back(weight);
      }
      starts.push_back(static_cast<std::uint32_t>(senders.size()));
    }
    in_starts_ = {*device_, std::span<const std::uint32_t>(starts)};
    in_senders_ = {*device_, std::span<const std::uint32_t>(senders)};
    in_weights_ = {*device_, std::span<const double>(weights)};
    for (std::size_t i = 0; i < agents_; ++i) degrees_ += network.graph.degree(i);
  }

  MaskKernel mask_kernel(std::uint32_t step) const {
    static_assert(static_cast<int>(Draw::compress_x) == static_cast<int>(Draw::compress_v) + 1);
    return {.seed = seed_,
            .use = static_cast<std::uint32_t>(Draw::compress_v),
            .round = step,
            .same_for_all = same_mask_,
            .size = dim_,
            .kept = kept_,
            .channels = 2,
            .tile = Mix::kTile,
            .tiles = tiles(),
            .positions = positions_.data(),
            .starts = starts_.data(),
            .scratch = scratch_.data()};
  }
  Messages messages() const {
    return {positions_.data(), starts_.data(), values_.data(), kept_, tiles()};
  }

  void gossip_step(std::uint32_t number, std::uint32_t round, bool first) {
    if (sparse_) {
      const auto masks = mask_kernel(number);
      device_->launch({agents_, 2}, scratch_.data() ? 0 : masks.bytes(), masks);
    }
    device_->launch({agents_, 2}, kSumBytes,
                    PublishKernel<Real>{messages(),
                                        stride_,
                                        {V_.values.data(), X_.values.data()},
                                        {Q_[0].values.data(), Q_[1].values.data()},
                                        {bounds_[0], bounds_[1]},
                                        norms_.data(),
                                        flag_.get()});
    device_->mark();
    if (first) gradients_->compute(X_.values.data(), round);
    device_->launch({agents_, tiles()}, Mix::kBytes, mix_kernel(number, round, first));
    device_->wait();  // for the messages; the rest may go on
    if (*static_cast<volatile std::uint32_t*>(flag_.get()) != 0) refuse_message(number);
    const std::uint64_t payload = 4 * std::uint64_t{kept_} + 4;  // the floats, a checksum
    traffic_.message_bytes += 2 * agents_ * payload;
    traffic_.link_bytes += 2 * degrees_ * payload;
  }

  Mix mix_kernel(std::uint32_t number, std::uint32_t round, bool first) const {
    using Gaps = typename Mix::Gaps;
    const bool rebuilds = sizeof(Real) < sizeof(double) && number % kRebuildPeriod == 0;
    auto gradient = gradients_->view(X_.values.data());
    if (!first) gradient.kind = Gradient<Real>::Kind::none;
    return {!stores_gaps_ ? Gaps::summed
            : rebuilds    ? Gaps::rebuilt
                          : Gaps::stored,
            messages(),
            gradient,
            seed_,
            round,
            dim_,
            stride_,
            gamma_,
            eta_,
            sigma_,
            X_.values.data(),
            U_.values.data(),
            V_.values.data(),
            {Q_[0].values.data(), Q_[1].values.data()},
            {gap_[0].values.data(), gap_[1].values.data()},
            in_starts_.data(),
            in_senders_.data(),
            in_weights_.data()};
  }

  // As check_sent says it.
  [[noreturn]] void refuse_message(std::uint32_t number) const {
    std::vector<double> norms(norms_.size());
    device_->download(norms.data(), norms_.data(), norms.size() * sizeof(double));
    std::size_t i = 0;
    while (i + 1 < norms.size() && norms[i] <= bounds_[i % 2]) ++i;
    fail(ErrorKind::numeric, "agent ", i / 2, " has diverged: its message of step ", number,
         " has norm ", norms[i], ", and the config allows at most ", bounds_[i % 2],
         "; a smaller algorithm.step or algorithm.consensus may help");
  }

  std::unique_ptr<Device> device_;  // before, and so after, all that is on it
  std::size_t agents_;
  std::uint32_t dim_, stride_, kept_, gossip_;
  std::uint64_t seed_;
  Real eta_, gamma_;
  double sigma_;
  bool sparse_, same_mask_, stores_gaps_;
  double bounds_[2] = {};
  std::size_t degrees_ = 0;  // of all agents together
  Array<std::uint32_t> in_starts_, in_senders_, positions_, starts_, scratch_;
  Array<double> in_weights_, norms_;
  Array<float> values_;
  std::unique_ptr<std::uint32_t, FreeOnHost> flag_;
  std::unique_ptr<DeviceGradients<Real>> gradients_;
  mutable DeviceRows<Real> X_, U_, Q_[2];
  DeviceRows<Real> V_, gap_[2];
  Traffic traffic_;
  mutable Rows wide_X_;        // X as it is handed out, where it is float
  mutable bool fresh_ = true;  // the host's X is that of the device
  bool lent_ = false;          // the host's matrices are the state
};

inline std::unique_ptr<Algorithm> make_device_porter(const AlgorithmSetup& setup,
                                                     const Request& request,
                                                     std::unique_ptr<Device> device) {
  if (setup.precision == Precision::narrow)
    return std::make_unique<DevicePorter<float>>(setup, request, std::move(device));
  return std::make_unique<DevicePorter<double>>(setup, request, std::move(device));
}

}  // namespace porter::cuda
