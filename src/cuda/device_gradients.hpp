// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>

#include "batch_backward.hpp"
#include "device_data.hpp"
#include "device_stack.hpp"
#include "few.hpp"
#include "linear.hpp"
#include "masks.hpp"
#include "mix.hpp"
#include "offer.hpp"
#include "poisson.hpp"

namespace porter::cuda {

/// GradientEstimator of a device: batches, gradients and clipping; the noise is added where the
/// gradient is used (UpdateKernel, RuleKernel).
template <class Real>
class DeviceGradients {
 public:
  /// The rows of matrices are `stride` apart.
  DeviceGradients(const Device& device, const AlgorithmSetup& setup, const Request& request,
                  std::uint32_t stride)
      : device_(device),
        seed_(setup.gradients.seed),
        agents_(setup.problem.agents),
        lambda_(request.model.lambda),
        dim_(static_cast<std::uint32_t>(setup.start.size())),
        stride_(stride),
        kind_(kind_of(setup, request)),
        net_(kind_ == Kind::linear || kind_ == Kind::stack
                 ? Perceptron{}
                 : perceptron_of(request.model, setup.problem.train.features, request.scores)),
        slope_{!is_regression(request.model),
               regression_loss(request.model).value_or(LossKind::squared)},
        clipping_(clipping_of(setup.gradients)),
        data_(device, setup.problem.train, reader_of(kind_)),
        rows_(data_.rows()),
        scales_(device, agents_) {
    const auto& sampler = setup.gradients.sampler;
    rows_.per_agent = static_cast<std::uint32_t>(sampler.records());
    rows_.batch = static_cast<std::uint32_t>(sampler.batch());
    const Sizes sizes(setup, request, stride);
    capacity_ = sizes.picks;
    if (sampler.kind() == Sampler::poisson) poisson_.emplace(device, setup);
    if (sampler.kind() == Sampler::poisson && kind_ == Kind::batch) library_.emplace(setup);
    if (sampler.kind() == Sampler::fixed) {
      picks_ = {device, sizes.picks * agents_ * kRoundsAhead};
      pick_starts_ = {device, 2 * agents_ * kRoundsAhead};
      const auto bytes = pick_kernel(0).bytes();
      if (bytes > device.block_memory())
        scratch_ = {device, bytes / sizeof(std::uint32_t) * agents_ * kRoundsAhead};
      rows_.picks = picks_.data();
    }
    wide_ = {device, sizes.wide * agents_};
    if (kind_ == Kind::sample) {
      // Few agents share their first layers among blocks.
      constexpr std::uint32_t kBusy = 4;  // blocks that a multiprocessor likes to have
      while (split_ < kMostParts && 2 * split_ * agents_ <= kBusy * device.multiprocessors())
        split_ *= 2;
      done_ = {device, agents_};
      if (const auto kernel = sample_kernel(nullptr); kernel.bytes() > device.block_memory())
        sample_scratch_ = {device, kernel.numbers() * split_ * agents_};
    }
    own_ = {device, sizes.own * agents_};
    units_ = {device, sizes.units * agents_};
    samples_ = {device, sizes.samples * agents_};
    first_ = {device, sizes.first * agents_};
    if (kind_ == Kind::stack && sampler.batch() == 1)
      single_stack_.emplace(device, setup, request, clipping_, stride_);
    else if (kind_ == Kind::stack)
      stack_.emplace(device, setup, request, clipping_, stride_);
  }

  /// Those of a round at X, for `at` of the view.
  void compute(const Real* X, std::uint32_t round) { compute_beside(X, round, Part<Idle>{}); }
  /// The same, with another kernel in the same launch as the first of its own.
  template <class Other>
  void compute_beside(const Real* X, std::uint32_t round, const Part<Other>& other) {
    if (poisson_) {
      poisson_->use(round, rows_);
      make_room();
    } else if (rows_.picks) {
      draw_picks(round);
    }
    if (single_stack_) {
      launch(single_stack_->begin(X), other);
      single_stack_->finish(rows_, wide_.data(), scales_.data());
    } else if (stack_) {
      launch(stack_->begin(X), other);
      stack_->finish(rows_, own_.data(), scales_.data());
    } else if (kind_ == Kind::linear)
      launch(Part<LogisticKernel<Real>>{logistic_kernel(X), {agents_, 1}, kSumBytes}, other);
    else if (kind_ == Kind::sample)
      launch(sample_part(X), other);
    else
      compute_batch(X, other);
    if (library_)
      for (const auto agent : poisson_->single(round)) compute_by_library(agent, X, round);
  }

  /// Whether a round has one sample an agent, of a loss of one score.
  static bool is_linear_sample(const AlgorithmSetup& setup, const Request& request) {
    const auto& sampler = setup.gradients.sampler;
    return kind_of(setup, request) == Kind::linear && sampler.kind() != Sampler::poisson &&
           sampler.batch() == 1;
  }
  /// Then, in the place of compute(): what its gradient is made of.
  LinearSample linear_sample(std::uint32_t round) {
    if (rows_.picks) draw_picks(round);
    return {rows_, clipping_, lambda_, slope_};
  }

  Gradient<Real> view(const Real* X) const {
    using ViewKind = typename Gradient<Real>::Kind;
    return {kind_ == Kind::linear || single_stack_ ? ViewKind::wide
            : kind_ == Kind::sample                ? ViewKind::factors
                                                   : ViewKind::own,
            kind_ == Kind::sample ? sample_kernel(X) : SampleKernel<Real>{},
            wide_.data(),
            own_.data(),
            scales_.data(),
            stride_,
            Gradient<Real>::per_input_of(net_.layers[0].inputs)};
  }

  /// What an agent takes on the device beside its rows of the state.
  static std::size_t bytes_per_agent(const AlgorithmSetup& setup, const Request& request,
                                     std::uint32_t stride) {
    const Sizes sizes(setup, request, stride);
    std::size_t stack = 0;
    if (kind_of(setup, request) == Kind::stack)
      stack = setup.gradients.sampler.batch() == 1
                  ? DeviceStack<double, Real>::bytes_per_agent(setup, request,
                                                               clipping_of(setup.gradients))
                  : DeviceStack<Real, Real>::bytes_per_agent(setup, request,
                                                             clipping_of(setup.gradients));
    return stack + sizes.picks * 4 * kRoundsAhead + sizes.wide * 8 + sizes.own * sizeof(Real) +
           (sizes.units + sizes.first) * sizeof(Real) + sizes.samples * sizeof(BatchSample);
  }
  static std::size_t data_bytes(const AlgorithmSetup& setup, const Request& request) {
    return DeviceData<Real>::bytes(setup.problem.train, reader_of(kind_of(setup, request)));
  }

 private:
  enum class Kind { linear, sample, batch, stack };
  static constexpr std::uint32_t kRoundsAhead = 16, kMostParts = 16;

  struct Idle {
    static constexpr int kThreads = 32;
    PORTER_DEVICE void operator()(const Block&) const {}
  };
  template <class Kernel, class Other>
  void launch(const Part<Kernel>& part, const Part<Other>& other) const {
    if constexpr (std::is_same_v<Other, Idle>)
      device_.launch(part);
    else
      device_.launch(beside(part, other));
  }

  // Of this round and the next ones: no state decides them.
  void draw_picks(std::uint32_t round) {
    if (round < drawn_from_ || round >= drawn_from_ + kRoundsAhead) {
      if (rows_.batch <= FewKernel::kMost) {
        const auto kernel = few_kernel(round);
        device_.launch({kernel.blocks(), 1}, kernel.bytes(), kernel);
      } else {
        const auto kernel = pick_kernel(round);
        device_.launch({agents_, kRoundsAhead}, scratch_.data() ? 0 : kernel.bytes(), kernel);
      }
      drawn_from_ = round;
    }
    rows_.picks = picks_.data() + std::size_t{round % kRoundsAhead} * agents_ * rows_.batch;
  }

  static Kind kind_of(const AlgorithmSetup& setup, const Request& request) {
    const auto& model = find_model(request.model.name);
    if (model.takes_images) return Kind::stack;
    if (model.single_score()) return Kind::linear;
    return setup.gradients.sampler.batch() == 1 ? Kind::sample : Kind::batch;
  }
  static Reader reader_of(Kind kind) {
    return kind == Kind::linear   ? Reader::entries
           : kind == Kind::sample ? Reader::samples
           : kind == Kind::batch  ? Reader::batches
                                  : Reader::images;
  }
  // The mean of one sample is the sample (GradientEstimator::request).
  static Clipping clipping_of(const GradientOptions& options) {
    const auto batch = options.sampler.batch();
    return {options.clip.kind, options.clip.tau,
            options.clip.kind != Clip::Kind::none &&
                (options.clip_target == ClipTarget::sample || batch == 1),
            1.0 / static_cast<double>(batch)};
  }

  /// Numbers of each kind that an agent needs.
  struct Sizes {
    std::size_t picks, wide = 0, own = 0, units = 0, samples = 0, first = 0;

    Sizes(const AlgorithmSetup& setup, const Request& request, std::uint32_t stride)
        : picks(batch_of(setup.gradients.sampler)) {
      const auto kind = kind_of(setup, request);
      const auto features = setup.problem.train.features;
      if (kind == Kind::stack) {
        (setup.gradients.sampler.batch() == 1 ? wide : own) = stride;
        return;
      }
      if (kind == Kind::linear) {
        wide = (picks == 1 ? 1 : 2) * std::size_t{stride} + 2 * picks;
        return;
      }
      const auto net = perceptron_of(request.model, features, request.scores);
      if (kind == Kind::sample) {
        wide = 2 * std::size_t{net.units};
        return;
      }
      own = stride;
      units = 2 * picks * net.units + net.layers[0].outputs;
      samples = picks;
      first = picks * first_of(net.layers[0]);
    }
    /// Deltas of a sample's first layer, whole groups.
    static std::size_t first_of(const DenseLayer& layer) {
      return std::size_t{groups_of(layer, kSumOutputs<Real>)} * kSumOutputs<Real>;
    }
    static std::size_t batch_of(const BatchSampler& sampler) {
      return sampler.kind() == Sampler::poisson ? PoissonBatches::likely_size(sampler)
                                                : sampler.batch();
    }
  };

  // For batches that are larger than any before. What the last round left is not needed any more.
  void make_room() {
    if (rows_.batch <= capacity_) return;
    capacity_ = rows_.batch;
    if (kind_ == Kind::linear)
      wide_ = {device_, (2 * std::size_t{stride_} + 2 * capacity_) * agents_};
    if (kind_ != Kind::batch) return;
    units_ = {device_, (2 * capacity_ * net_.units + net_.layers[0].outputs) * agents_};
    samples_ = {device_, capacity_ * agents_};
    first_ = {device_, capacity_ * Sizes::first_of(net_.layers[0]) * agents_};
  }

  // A perceptron has one sample by another way than many (Mlp::gradient_sum), and here nobody knows
  // before the draw. That is rare, but not for batches of a few samples.
  struct Library {
    explicit Library(const AlgorithmSetup& setup)
        : estimator(setup.problem, without_noise(setup.gradients), setup.pool) {}
    static GradientOptions without_noise(GradientOptions options) {
      options.noise_stddev = 0;
      options.momentum = 1;
      return options;
    }
    GradientEstimator estimator;
  };
  void compute_by_library(std::uint32_t agent, const Real* X, std::uint32_t round) {
    std::vector<Real> x(dim_), g(dim_);
    device_.download(x.data(), X + std::size_t{agent} * stride_, dim_ * sizeof(Real));
    library_->estimator.prepare(agent, std::span<const Real>(x), round, std::span<Real>(g));
    for (std::size_t first = 0; first < dim_; first += kTileSize) {
      const Tile tile{agent, first, std::min<std::size_t>(kTileSize, dim_ - first)};
      library_->estimator.release(tile, round, tile.of(std::span<Real>(g)));
    }
    const double scale = 1;
    device_.upload(own_.data() + std::size_t{agent} * stride_, g.data(), dim_ * sizeof(Real));
    device_.upload(scales_.data() + agent, &scale, sizeof scale);
  }

  FewKernel few_kernel(std::uint32_t round) const {
    return {.seed = seed_,
            .use = static_cast<std::uint32_t>(Draw::batch),
            .round = round,
            .rounds = kRoundsAhead,
            .same_for_all = false,
            .size = rows_.per_agent,
            .kept = rows_.batch,
            .channels = 1,
            .drawers = static_cast<std::uint32_t>(agents_),
            .slots = kRoundsAhead,
            .positions = picks_.data(),
            .low_halves = nullptr,
            .starts = pick_starts_.data()};
  }
  MaskKernel pick_kernel(std::uint32_t round) const {
    constexpr std::uint32_t kOneTile = 1U << 31;
    return {.seed = seed_,
            .use = static_cast<std::uint32_t>(Draw::batch),
            .round = round,
            .same_for_all = false,
            .size = rows_.per_agent,
            .kept = rows_.batch,
            .channels = 1,
            .tile = kOneTile,
            .tiles = 1,
            .positions = picks_.data(),
            .starts = pick_starts_.data(),
            .scratch = scratch_.data(),
            .drawers = static_cast<std::uint32_t>(agents_),
            .slots = kRoundsAhead};
  }

  LogisticKernel<Real> logistic_kernel(const Real* X) const {
    const std::size_t matrix = agents_ * stride_, samples = agents_ * capacity_;
    double* const after = wide_.data() + matrix;  // with batches: R, slopes, factors
    const bool batches = capacity_ > 1;
    return {rows_,
            clipping_,
            lambda_,
            dim_,
            stride_,
            X,
            wide_.data(),
            batches ? after : nullptr,
            batches ? after + matrix : nullptr,
            batches ? after + matrix + samples : nullptr,
            scales_.data(),
            slope_};
  }

  SampleKernel<Real> sample_kernel(const Real* X) const {
    double* const units = wide_.data();
    return {rows_,
            data_.sparse(),
            clipping_,
            lambda_,
            net_,
            dim_,
            stride_,
            X,
            data_.squares(),
            {units, units + agents_ * net_.units, scales_.data()},
            split_,
            done_.data(),
            sample_scratch_.data()};
  }
  Part<SampleKernel<Real>> sample_part(const Real* X) const {
    const auto kernel = sample_kernel(X);
    return {kernel, {agents_, split_}, sample_scratch_.data() ? kSumBytes : kernel.bytes()};
  }

  template <class Other>
  void compute_batch(const Real* X, const Part<Other>& other) {
    const std::size_t samples = agents_ * rows_.batch;
    Real* const units = units_.data();
    const BatchUnits<Real> batch{units, units + samples * net_.units,
                                 units + 2 * samples * net_.units, first_.data(), samples_.data()};
    const auto inputs = data_.inputs();
    const auto& first = net_.layers[0];
    const BatchBeginKernel<Real> begin{rows_, data_.sparse(), inputs, batch, first, stride_, X};
    launch(Part<BatchBeginKernel<Real>>{begin, {agents_, begin.height()}, begin.bytes()}, other);
    const std::uint32_t groups = groups_of(first, kGroupOutputs<Real>),
                        parts = batch_parts(agents_ * groups);
    const BatchForwardKernel<Real> forward{rows_,   inputs, batch, first,           net_.units,
                                           stride_, X,      parts, inputs_at_once()};
    device_.launch({agents_, std::size_t{parts} * groups}, forward.bytes(), forward);
    using Deltas = BatchDeltasKernel<Real>;
    Deltas deltas{rows_, inputs, batch, clipping_, net_, dim_, stride_, X, true};
    deltas.at_hand = deltas.bytes() <= device_.block_memory();
    device_.launch({agents_, (rows_.batch + Deltas::kGroup - 1) / Deltas::kGroup}, deltas.bytes(),
                   deltas);
    const BatchSumKernel<Real> sum{rows_, batch, net_, dim_, stride_, own_.data()};
    device_.launch({agents_, sum.height()}, BatchSumKernel<Real>::kBytes, sum);
    device_.launch({agents_, 1}, kSumBytes,
                   ScaleKernel<Real>{clipping_, dim_, stride_, own_.data(), scales_.data()});
  }

  /// Inputs whose weights have room in the memory of a block.
  std::uint32_t inputs_at_once() const {
    using Forward = BatchForwardKernel<Real>;
    const std::size_t least = Forward::kEntryBytes + Forward::kRowBytes;
    const std::size_t memory = std::max(device_.block_memory(), least);
    const std::size_t room = (memory - Forward::kEntryBytes) / Forward::kRowBytes;
    return static_cast<std::uint32_t>(std::min<std::size_t>(room, net_.layers[0].inputs));
  }
  /// Into how many parts a batch is cut, so that `blocks` times as many keep all multiprocessors
  /// busy to the end; a part more costs something, too.
  std::uint32_t batch_parts(std::size_t blocks) const {
    constexpr double kCost = 0.04;  // of fetching weights, beside a whole batch
    std::uint32_t best = 1;
    double least = 0;
    for (std::uint32_t parts = 1; parts <= 32 && parts <= rows_.batch; ++parts) {
      const auto turns =
          (blocks * parts + device_.multiprocessors() - 1) / device_.multiprocessors();
      const double cost = static_cast<double>(turns) * (1.0 / parts + kCost);
      if (parts > 1 && cost >= least) continue;
      best = parts;
      least = cost;
    }
    return best;
  }

  const Device& device_;
  std::uint64_t seed_;
  std::size_t agents_;
  double lambda_;
  std::uint32_t dim_, stride_;
  Kind kind_;
  Perceptron net_;
  ScoreSlope slope_;
  Clipping clipping_;
  DeviceData<Real> data_;
  SampleRows rows_;
  std::optional<PoissonBatches> poisson_;
  std::optional<Library> library_;
  std::size_t capacity_ = 0;  // samples of an agent that there is room for
  Array<double> scales_;
  std::uint32_t split_ = 1;                        // of a sample's first layer
  std::uint32_t drawn_from_ = ~0U - kRoundsAhead;  // of picks, kRoundsAhead rounds
  Array<std::uint32_t> picks_, pick_starts_, scratch_, done_;
  Array<double> sample_scratch_;
  Array<double> wide_;  // rows, or what a sample's gradient is made of
  Array<Real> own_, units_, first_;
  Array<BatchSample> samples_;
  std::optional<DeviceStack<Real, Real>> stack_;
  std::optional<DeviceStack<double, Real>> single_stack_;  // of batches of one
};

}  // namespace porter::cuda
