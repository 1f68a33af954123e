// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <type_traits>

#include "algo/bounds.hpp"
#include "algo/gaps.hpp"
#include "core/vector_math.hpp"
#include "device_gradients.hpp"
#include "messages.hpp"
#include "room.hpp"
#include "small_round.hpp"
#include "tile_update.hpp"

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

/// PORTER and BEER (src/algo/porter.cpp) on a device, with the same bits. A round is two launches:
///   DeviceGradients  lines 4 to 10 without the noise; beside it CheckKernel, which looks at the
///                    messages, and MaskKernel, which draws coordinates ahead
///   UpdateKernel     gaps, noise, lines 12 and 14, and lines 11 and 13 of the next round
/// or one of both together, SmallRoundKernel, for models of few parameters and one score.
/// The second is asked for in the next step, or by who wants to see the state: then it stores V,
/// and leaves the messages of the next round to PublishKernel. So the host never waits for the
/// device.
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
        stores_gaps_(should_store_gaps<Real>(agents_, kept_, dim_)),
        small_(is_small(setup, request)),
        part_(small_         ? Small::kMostParameters
              : stores_gaps_ ? Stored::kPart
                             : Summed::kPart),
        parts_((dim_ + part_ - 1) / part_) {
    const auto drawing = mask_kernel(0).bytes();
    draws_in_memory_ = sparse_ && drawing > device_->block_memory();
    draws_ahead_ = draws_in_memory_                    ? 1
                   : !small_ && agents_ >= kManyAgents ? kDrawnByMany
                                                       : kDrawnAhead;
    slots_ = draws_ahead_ == 1 ? kMaskSlots : 2 * draws_ahead_;
    expect_room(setup, request);
    const auto bounds = public_bounds(setup);
    bounds_[0] = bounds.tracker;
    bounds_[1] = bounds.iterate;
    connect(setup.neighbours());
    for (auto* rows : {&X_, &V_, &U_, &Q_[0], &Q_[1], &gap_[0], &gap_[1]})
      rows->values = {*device_, agents_ * stride_};
    X_.copy = Q_[1].copy = repeat_row<Real>(setup.start, agents_);
    X_.upload(*device_, stride_);
    Q_[1].upload(*device_, stride_);
    for (auto& values : values_) values = {*device_, sparse_ ? 0 : 2 * agents_ * kept_};
    for (auto& entries : entries_) entries = {*device_, sparse_ ? 2 * agents_ * kept_ : 0};
    norms_ = {*device_, 2 * agents_};
    const std::uint32_t none = ~0U;
    failed_step_ = {*device_, std::span<const std::uint32_t>(&none, 1)};
    if (sparse_) {
      positions_ = {*device_, slots_ * 2 * agents_ * kept_};
      starts_ = {*device_, slots_ * 2 * agents_ * (parts_ + 1)};
      if (draws_in_memory_) scratch_ = {*device_, 2 * agents_ * (drawing / sizeof(std::uint32_t))};
    }
    flag_.reset(static_cast<std::uint32_t*>(device_->allocate_on_host(sizeof(std::uint32_t))));
    gradients_ = std::make_unique<DeviceGradients<Real>>(*device_, setup, request, stride_);
  }

  void step(std::uint32_t round) override {
    if (std::exchange(lent_, false))
      for (const auto& [name, rows] : matrices()) rows->upload(*device_, stride_);
    const std::uint32_t first = (round - 1) * gossip_ + 1;
    for (std::uint32_t number = first; number < first + gossip_; ++number)
      gossip_step({number, round, number == first});
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
  using Stored = UpdateKernel<Real, sizeof(Real) == sizeof(float) ? 2 : 1, Gaps::stored>;
  using Summed = UpdateKernel<Real, 1, Gaps::summed>;
  using Small = SmallRoundKernel<Real>;
  /// A gossip step whose update is still to be asked for.
  struct Step {
    std::uint32_t number, round;
    bool first;  ///< of its round: the one with a gradient
  };
  /// Masks are drawn for several steps at once; those that need memory of the device for one step,
  /// beside others.
  static constexpr std::uint32_t kManyAgents = 256, kDrawnAhead = 16, kDrawnByMany = 4,
                                 kMaskSlots = 4;

  bool is_small(const AlgorithmSetup& setup, const Request& request) const {
    return sparse_ && gossip_ == 1 && dim_ <= Small::kMostParameters && kept_ <= Small::kMostKept &&
           DeviceGradients<Real>::is_linear_sample(setup, request);
  }

  /// Under the names that checkpoints have.
  std::vector<NamedMatrix> matrices() {
    std::vector<NamedMatrix> all = {
        {"X", &X_}, {"V", &V_}, {"U", &U_}, {"Q0", &Q_[0]}, {"Q1", &Q_[1]}};
    if (stores_gaps_) all.insert(all.end(), {{"gap0", &gap_[0]}, {"gap1", &gap_[1]}});
    return all;
  }
  void download(DeviceRows<Real>& rows) const {
    if (pending_) update(*pending_, false);
    pending_.reset();
    rows.download(*device_, agents_, dim_, stride_);
    expect_messages_within_bounds();
  }

  // Before anything is allocated: what an agent takes, and how many there is room for.
  void expect_room(const AlgorithmSetup& setup, const Request& request) const {
    constexpr std::size_t kMatrices = 7;
    const std::size_t drawing = draws_in_memory_ ? 2 * mask_kernel(0).bytes() : 0;
    const std::size_t masks = sparse_ ? slots_ * (4 * std::size_t{kept_} + 8 * (parts_ + 1)) : 0;
    const std::size_t messages = (sparse_ ? 32 : 16) * std::size_t{kept_} + masks + drawing;
    const std::size_t per_agent = kMatrices * stride_ * sizeof(Real) + messages +
                                  DeviceGradients<Real>::bytes_per_agent(setup, request, stride_);
    require(2 * agents_ * kept_ < std::uint64_t{1} << 32, ErrorKind::usage,
            "run.engine = \"cuda\": the messages of ", agents_, " agents (network.agents) with ",
            kept_, " entries each (algorithm.compressor) are too many: 2^31 entries is the limit");
    cuda::expect_room(*device_, agents_, dim_, per_agent,
                      DeviceGradients<Real>::data_bytes(setup, request));
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
      most_heard_ = std::max(most_heard_, static_cast<std::uint32_t>(row.size()));
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
            .tile = part_,
            .tiles = parts_,
            .positions = nullptr,
            .starts = starts_.data(),
            .scratch = scratch_.data(),
            .low_halves = positions_.data(),
            .drawers = static_cast<std::uint32_t>(agents_),
            .slots = slots_};
  }
  Part<FewKernel> few_part(std::uint32_t step, std::uint32_t steps) const {
    const FewKernel kernel{.seed = seed_,
                           .use = static_cast<std::uint32_t>(Draw::compress_v),
                           .round = step,
                           .rounds = steps,
                           .same_for_all = same_mask_,
                           .size = dim_,
                           .kept = kept_,
                           .channels = 2,
                           .drawers = static_cast<std::uint32_t>(agents_),
                           .slots = slots_,
                           .positions = nullptr,
                           .low_halves = positions_.data(),
                           .starts = starts_.data()};
    return {kernel, {kernel.blocks(), 1}, kernel.bytes()};
  }
  Part<MaskKernel> mask_part(std::uint32_t step, std::uint32_t steps) const {
    const auto kernel = mask_kernel(step);
    return {kernel, {agents_, 2 * steps}, draws_in_memory_ ? 0 : kernel.bytes()};
  }
  // Masks of a step and of the next one, before a kernel that needs them may start.
  void draw_masks(std::uint32_t step) {
    if (!sparse_ || (step >= drawn_from_ && step + 1 < drawn_until_)) return;
    if (step < drawn_from_ || step >= drawn_until_) drawn_from_ = drawn_until_ = step;
    while (drawn_until_ <= step + 1) {
      if (small_)
        device_->launch(few_part(drawn_until_, draws_ahead_));
      else
        device_->launch(mask_part(drawn_until_, draws_ahead_));
      drawn_until_ += draws_ahead_;
    }
    drawn_from_ = std::max(drawn_from_, drawn_until_ > slots_ ? drawn_until_ - slots_ : 0);
  }
  Heard messages(std::uint32_t step) const {
    const std::size_t slot = step % slots_;
    return {sparse_ ? positions_.data() + slot * 2 * agents_ * kept_ : nullptr,
            sparse_ ? starts_.data() + slot * 2 * agents_ * (parts_ + 1) : nullptr,
            entries_[step % 2].data(), values_[step % 2].data()};
  }

  void gossip_step(const Step& step) {
    draw_masks(step.number);
    const bool published = !pending_;
    if (!published)
      update(*pending_, true);
    else
      device_->launch({agents_, 2}, 0,
                      PublishKernel<Real>{messages(step.number),
                                          part_,
                                          parts_,
                                          kept_,
                                          stride_,
                                          {V_.values.data(), X_.values.data()},
                                          {Q_[0].values.data(), Q_[1].values.data()}});
    if (rebuilds(step)) rebuild();
    if (!small_ || published) begin(step);
    pending_ = step;
    expect_messages_within_bounds();
    const std::uint64_t payload = 4 * std::uint64_t{kept_} + 4;  // the floats, a checksum
    traffic_.message_bytes += 2 * agents_ * payload;
    traffic_.link_bytes += 2 * degrees_ * payload;
  }

  bool rebuilds(const Step& step) const {
    return stores_gaps_ && sizeof(Real) < sizeof(double) && step.number % kRebuildPeriod == 0;
  }
  void rebuild() const {
    using Rebuild = RebuildKernel<Real>;
    device_->launch({agents_, (dim_ + Rebuild::kTile - 1) / Rebuild::kTile}, 0,
                    Rebuild{dim_,
                            stride_,
                            {Q_[0].values.data(), Q_[1].values.data()},
                            {gap_[0].values.data(), gap_[1].values.data()},
                            in_starts_.data(),
                            in_senders_.data(),
                            in_weights_.data()});
  }

  // The gradients, and what may be done beside them.
  void begin(const Step& step) {
    const Part<CheckKernel> check{
        {messages(step.number), kept_, step.number, outlaws()}, {agents_, 2}, kSumBytes};
    if (small_) {  // which computes its gradients later, and checks all later messages
      device_->launch(check);
    } else if (sparse_ && draws_ahead_ == 1) {
      begin_beside(step, beside(mask_part(step.number + 2, 1), check));
      drawn_until_ = step.number + 3;
      drawn_from_ = std::max(drawn_from_, step.number);
    } else {
      begin_beside(step, check);
    }
  }
  template <class Kernel>
  void begin_beside(const Step& step, const Part<Kernel>& other) {
    if (step.first)
      gradients_->compute_beside(X_.values.data(), step.round, other);
    else
      device_->launch(other);
  }

  Outlaws outlaws() const {
    return {{bounds_[0], bounds_[1]}, norms_.data(), failed_step_.data(), flag_.get()};
  }

  /// `goes_on`: with the messages of the next step, and without V.
  void update(const Step& step, bool goes_on) const {
    if (small_)
      launch_small(step, goes_on);
    else if (stores_gaps_)
      launch_update<Stored>(step, goes_on);
    else
      launch_update<Summed>(step, goes_on);
    if (goes_on && !stores_gaps_)
      for (std::size_t c = 0; c < 2; ++c) std::swap(Q_[c].values, gap_[c].values);
  }
  template <class Update>
  void launch_update(const Step& step, bool goes_on) const {
    auto gradient = gradients_->view(X_.values.data());
    if (!step.first) gradient.kind = Gradient<Real>::Kind::none;
    const auto tiles = (stride_ + Update::kTile - 1) / Update::kTile;
    const auto blocks =
        std::min<std::size_t>(agents_ * tiles, Update::kBlocks * device_->multiprocessors());
    auto& next_Q = stores_gaps_ ? Q_ : gap_;
    device_->launch({blocks, 1}, Update::kBytes,
                    Update{static_cast<std::uint32_t>(agents_),
                           tiles,
                           static_cast<std::uint32_t>(blocks),
                           parts_,
                           dim_,
                           stride_,
                           kept_,
                           messages(step.number),
                           messages(step.number + 1),
                           goes_on,
                           rebuilds(step),
                           !goes_on || gossip_ > 1,
                           most_heard_,
                           gradient,
                           seed_,
                           step.round,
                           gamma_,
                           eta_,
                           sigma_,
                           X_.values.data(),
                           U_.values.data(),
                           V_.values.data(),
                           {Q_[0].values.data(), Q_[1].values.data()},
                           {next_Q[0].values.data(), next_Q[1].values.data()},
                           {gap_[0].values.data(), gap_[1].values.data()},
                           in_starts_.data(),
                           in_senders_.data(),
                           in_weights_.data()});
  }

  void launch_small(const Step& step, bool goes_on) const {
    auto& next_Q = stores_gaps_ ? Q_ : gap_;
    const Small kernel{static_cast<std::uint32_t>(agents_),
                       dim_,
                       stride_,
                       kept_,
                       messages(step.number),
                       messages(step.number + 1),
                       stores_gaps_,
                       goes_on,
                       rebuilds(step),
                       !goes_on,
                       gradients_->linear_sample(step.round),
                       seed_,
                       step.round,
                       step.number,
                       gamma_,
                       eta_,
                       sigma_,
                       X_.values.data(),
                       U_.values.data(),
                       V_.values.data(),
                       {Q_[0].values.data(), Q_[1].values.data()},
                       {next_Q[0].values.data(), next_Q[1].values.data()},
                       {gap_[0].values.data(), gap_[1].values.data()},
                       in_starts_.data(),
                       in_senders_.data(),
                       in_weights_.data(),
                       outlaws()};
    device_->launch({kernel.blocks(), 1}, kernel.bytes(), kernel);
  }

  // As check_sent says it. The device may be some rounds ahead of who reads the flag.
  void expect_messages_within_bounds() const {
    if (*static_cast<volatile std::uint32_t*>(flag_.get()) == 0) return;
    std::uint32_t step = 0;
    std::vector<double> norms(norms_.size());
    device_->download(&step, failed_step_.data(), sizeof step);
    device_->download(norms.data(), norms_.data(), norms.size() * sizeof(double));
    std::size_t i = 0;
    while (i + 1 < norms.size() && norms[i] <= bounds_[i % 2]) ++i;
    fail(ErrorKind::numeric, "agent ", i / 2, " has diverged: its message of step ", step,
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
  bool small_;  // SmallRoundKernel does it
  bool draws_in_memory_ = false;
  std::uint32_t part_, parts_;  // of a message: coordinates in one, how many there are
  std::uint32_t draws_ahead_ = 1, slots_ = 1;       // steps of masks: at once, kept
  std::uint32_t drawn_from_ = 0, drawn_until_ = 0;  // the steps whose masks are there
  double bounds_[2] = {};
  std::size_t degrees_ = 0;  // of all agents together
  std::uint32_t most_heard_ = 0;
  Array<std::uint32_t> in_starts_, in_senders_, starts_, scratch_, failed_step_;
  Array<std::uint16_t> positions_;
  Array<double> in_weights_, norms_;
  Array<float> values_[2];        // of messages, steps take turns
  Array<HeardEntry> entries_[2];  // the same of messages with positions
  std::unique_ptr<std::uint32_t, FreeOnHost> flag_;
  std::unique_ptr<DeviceGradients<Real>> gradients_;
  mutable DeviceRows<Real> X_, U_, V_, Q_[2];
  mutable DeviceRows<Real> gap_[2];  // where none are stored: Q of the next round
  mutable std::optional<Step> pending_;
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
