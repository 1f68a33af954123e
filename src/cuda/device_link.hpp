// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "algo/bounds.hpp"
#include "algo/gaps.hpp"
#include "algo/sweep_mask.hpp"
#include "compressors.hpp"
#include "core/text.hpp"
#include "device.hpp"
#include "masks.hpp"
#include "offer.hpp"

namespace porter::cuda {

/// Row `agent` of (W - I)^T: whose messages move it, and by how much, ascending.
struct Incoming {
  const std::uint32_t *starts, *senders;
  const double* weights;
};

/// A vector of a message: the Draw of its compressor is the first channel's and those that follow.
struct DeviceChannel {
  bool is_iterate;  ///< else a tracker; their bounds differ
};

/// How a compressor's spec is computed.
struct Coding {
  enum class Kind { random_k, bernoulli, top_k, dense };
  Kind kind = Kind::dense;
  DenseCode code = DenseCode::identity;
  std::uint32_t kept = 0;  ///< of random_k and top_k
  std::int64_t limit = 0;  ///< of bernoulli
  std::int32_t top = 0;    ///< of levels
  double divisor = 1;
  std::uint32_t payload = 0;  ///< bytes of a dense vector

  Coding(const std::string& spec, const Compressor& compressor, std::uint32_t dim) {
    const auto packed = [=](std::uint32_t bits) { return (std::size_t{dim} * bits + 7) / 8; };
    const auto has = [&](std::size_t bytes) {
      payload = static_cast<std::uint32_t>(bytes + kChecksumBytes);
    };
    const auto parts = split_spec(spec);
    if (parts.name == "random_k" || parts.name == "top_k") {
      kind = parts.name == "top_k" ? Kind::top_k : Kind::random_k;
      kept = static_cast<std::uint32_t>(*compressor.kept(dim));
    } else if (parts.name == "bernoulli") {
      kind = Kind::bernoulli;
      limit = static_cast<std::int64_t>(std::ceil(*compressor.rho(dim) * 0x1p53));  // rho is p
    } else if (parts.name == "sign") {
      code = DenseCode::sign;
      has(sizeof(float) + packed(1));
    } else if (parts.name == "natural") {
      code = DenseCode::natural;
      has(packed(kNaturalBits));
    } else if (parts.name == "qsgd" || parts.name == "gsgd") {
      const auto bits = *parse_number<unsigned>(*parts.argument);
      code = DenseCode::levels;
      top = (1 << (bits - 1)) - 1;
      if (parts.name == "gsgd") divisor = 1 + level_omega(top, dim);
      has(sizeof(float) + packed(bits));
    } else {
      has(std::size_t{dim} * sizeof(float));
    }
  }
};

/// MessageLink of a device: positions, compressed vectors, their bounds and bytes.
class DeviceLink {
 public:
  /// The Draw of the first channel; `mask` is the method's where it has one.
  DeviceLink(const Device& device, const AlgorithmSetup& setup, const Request& request, Mask mask,
             Draw draw, std::vector<DeviceChannel> channels)
      : device_(device),
        agents_(setup.problem.agents),
        dim_(static_cast<std::uint32_t>(setup.start.size())),
        channels_(static_cast<std::uint32_t>(channels.size())),
        seed_(setup.gradients.seed),
        use_(static_cast<std::uint32_t>(draw)),
        same_for_all_(mask != Mask::own),
        coding_(request.compressor, setup.compressor, dim_) {
    const auto bounds = public_bounds(setup);
    for (std::size_t c = 0; c < channels.size(); ++c)
      bounds_[c] = channels[c].is_iterate ? bounds.iterate : bounds.tracker;
    connect(setup.neighbours());
    const std::size_t vectors = agents_ * channels_;
    norms_ = {device, vectors};
    misfits_ = {device, vectors};
    bad_ = {device, vectors};
    bytes_ = {device, vectors};
    flag_.reset(static_cast<std::uint32_t*>(device.allocate_on_host(sizeof(std::uint32_t))));
    if (mask == Mask::sweep) lay_out_sweep(setup);
    room_ = static_cast<std::uint32_t>(room_of(setup, request, mask));
    values_ = {device, vectors * room_};
    if (sweep_ || coding_.kind == Coding::Kind::dense) return;
    positions_ = {device, vectors * room_};
    starts_ = {device, vectors * (tiles() + 1)};
    if (coding_.kind == Coding::Kind::random_k) {
      if (const auto bytes = mask_kernel(0).bytes(); bytes > device.block_memory())
        scratch_ = {device, vectors * (bytes / sizeof(std::uint32_t))};
    } else if (coding_.kind == Coding::Kind::bernoulli) {
      scratch_ = {device, vectors * ((dim_ + 31) / 32)};
    } else {
      differences_ = {device, vectors * dim_};
    }
  }

  /// Makes the vectors of gossip step `step` of what the source gives, and hands them to it.
  template <class Source>
  void send(std::uint32_t step, const Source& source) {
    step_ = step;
    const Grid grid{agents_, channels_};
    if (!sweep_ && coding_.kind == Coding::Kind::top_k) {
      using Kernel = TopKernel<Source>;
      device_.launch(grid, Kernel::kBytes,
                     Kernel{mail(), report(), source, dim_, kTile, positions_.data(),
                            starts_.data(), differences_.data()});
    } else if (!sweep_ && coding_.kind == Coding::Kind::dense) {
      using Kernel = DenseKernel<Source>;
      device_.launch(grid, Kernel::kBytes,
                     Kernel{mail(), report(), source, stream(), coding_.code, coding_.top,
                            coding_.divisor, coding_.payload});
    } else {
      draw_positions(grid);
      using Kernel = GatherKernel<Source>;
      device_.launch(grid, Kernel::kBytes, Kernel{mail(), report(), source});
    }
    device_.mark();
  }

  /// Waits for the vectors of the step, not for what was asked for since; Error{numeric} as the
  /// library has it if one of them must not leave.
  void check() const {
    device_.wait();
    if (*static_cast<volatile std::uint32_t*>(flag_.get()) != 0) refuse();
  }

  Mail mail() const {
    Mail mail{positions_.data(), starts_.data(), values_.data(), room_, tiles(), channels_, false};
    if (!sweep_) return mail;
    const std::uint32_t block = (step_ - 1) % sweep_->steps();
    mail.positions = walk_.data() + walk_starts_[block];
    mail.starts = starts_.data() + std::size_t{block} * (tiles() + 1);
    mail.same_positions = true;
    return mail;
  }
  const SweepMask& sweep() const { return *sweep_; }
  /// How many positions a sweep has in this step.
  std::uint32_t swept() const {
    return static_cast<std::uint32_t>(sweep_->positions(step_).size());
  }
  Incoming incoming() const { return {in_starts_.data(), in_senders_.data(), in_weights_.data()}; }
  std::uint32_t channels() const { return channels_; }

  /// The device counts bytes; they come when somebody asks.
  Traffic& traffic() {
    std::vector<std::uint64_t> sent(bytes_.size());
    device_.download(sent.data(), bytes_.data(), sent.size() * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < sent.size(); ++i) traffic_.add(sent[i], degrees_[i / channels_]);
    const std::vector<std::uint64_t> none(sent.size());
    device_.upload(bytes_.data(), none.data(), none.size() * sizeof(std::uint64_t));
    return traffic_;
  }

  /// What an agent takes on the device.
  static std::size_t bytes_per_agent(const Device& device, const AlgorithmSetup& setup,
                                     const Request& request, Mask mask, std::size_t channels) {
    const std::size_t dim = setup.start.size();
    const Coding coding(request.compressor, setup.compressor, static_cast<std::uint32_t>(dim));
    std::size_t bytes = sizeof(float) * room_of(setup, request, mask);
    if (mask != Mask::sweep && coding.kind != Coding::Kind::dense)
      bytes = 2 * bytes + 4 * ((dim + kTile - 1) / kTile + 1);
    if (mask != Mask::sweep && coding.kind == Coding::Kind::top_k) bytes += dim * sizeof(float);
    if (mask != Mask::sweep && coding.kind == Coding::Kind::bernoulli) bytes += dim / 8 + 4;
    if (mask != Mask::sweep && coding.kind == Coding::Kind::random_k) {
      MaskKernel kernel{};
      kernel.size = static_cast<std::uint32_t>(dim);
      kernel.kept = coding.kept;
      if (kernel.bytes() > device.block_memory()) bytes += kernel.bytes();
    }
    constexpr std::size_t kReports = 28;
    return channels * (bytes + kReports);
  }

 private:
  static constexpr std::uint32_t kTile = kTileSize;
  struct FreeOnHost {
    void operator()(std::uint32_t* memory) const { Device::free_on_host(memory); }
  };

  // Places of a vector.
  static std::size_t room_of(const AlgorithmSetup& setup, const Request& request, Mask mask) {
    const std::size_t dim = setup.start.size();
    const Coding coding(request.compressor, setup.compressor, static_cast<std::uint32_t>(dim));
    if (mask == Mask::sweep) return std::min(dim, coding.kept + setup.dense.size());
    return coding.kept > 0 ? coding.kept : dim;
  }

  std::uint32_t tiles() const { return (dim_ + kTile - 1) / kTile; }
  MailStream stream() const { return {seed_, use_, step_, same_for_all_}; }
  MailReport report() const {
    return {norms_.data(), misfits_.data(), bad_.data(),
            bytes_.data(), flag_.get(),     {bounds_[0], bounds_[1]}};
  }

  void draw_positions(Grid grid) {
    if (sweep_) return;
    if (coding_.kind == Coding::Kind::bernoulli) {
      device_.launch(grid, BernoulliKernel::kBytes,
                     BernoulliKernel{stream(), coding_.limit, dim_, kTile, tiles(), channels_,
                                     positions_.data(), starts_.data(), scratch_.data()});
      return;
    }
    const auto kernel = mask_kernel(step_);
    device_.launch(grid, scratch_.data() ? 0 : kernel.bytes(), kernel);
  }
  MaskKernel mask_kernel(std::uint32_t step) const {
    return {.seed = seed_,
            .use = use_,
            .round = step,
            .same_for_all = same_for_all_,
            .size = dim_,
            .kept = coding_.kept,
            .channels = channels_,
            .tile = kTile,
            .tiles = tiles(),
            .positions = positions_.data(),
            .starts = starts_.data(),
            .scratch = scratch_.data()};
  }

  // The positions of all steps of a sweep, and where those of each tile start.
  void lay_out_sweep(const AlgorithmSetup& setup) {
    sweep_.emplace(seed_, dim_, coding_.kept, setup.dense);
    std::vector<std::uint32_t> walk, starts;
    for (std::uint32_t step = 1; step <= sweep_->steps(); ++step) {
      const auto positions = sweep_->positions(step);
      walk_starts_.push_back(walk.size());
      walk.insert(walk.end(), positions.begin(), positions.end());
      for (std::size_t first = 0; first <= std::size_t{tiles()} * kTile; first += kTile)
        starts.push_back(static_cast<std::uint32_t>(
            std::ranges::lower_bound(positions, static_cast<std::uint32_t>(first)) -
            positions.begin()));
    }
    walk_ = {device_, std::span<const std::uint32_t>(walk)};
    starts_ = {device_, std::span<const std::uint32_t>(starts)};
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
    in_starts_ = {device_, std::span<const std::uint32_t>(starts)};
    in_senders_ = {device_, std::span<const std::uint32_t>(senders)};
    in_weights_ = {device_, std::span<const double>(weights)};
    for (std::size_t i = 0; i < agents_; ++i) degrees_.push_back(network.graph.degree(i));
  }

  template <class T>
  std::vector<T> downloaded(const Array<T>& array) const {
    std::vector<T> values(array.size());
    device_.download(values.data(), array.data(), values.size() * sizeof(T));
    return values;
  }

  // Of the first vector that the library would have refused, as it says it.
  [[noreturn]] void refuse() const {
    const auto norms = downloaded(norms_), misfits = downloaded(misfits_);
    const auto bad = downloaded(bad_);
    std::size_t i = 0;
    while (i + 1 < norms.size() && bad[i] == kNoPosition && misfits[i] == 0 &&
           norms[i] <= bounds_[i % channels_])
      ++i;
    require(bad[i] == kNoPosition, ErrorKind::numeric, "cannot compress a vector whose entry ",
            bad[i], " of ", dim_, " is not finite");
    require(misfits[i] == 0 || coding_.code != DenseCode::natural, ErrorKind::numeric,
            "natural compresses entries of magnitude up to 2^127, got ",
            static_cast<float>(misfits[i]));
    require(misfits[i] == 0, ErrorKind::numeric, "the compressed value ", misfits[i],
            " does not fit a float");
    fail(ErrorKind::numeric, "agent ", i / channels_, " has diverged: its message of step ", step_,
         " has norm ", norms[i], ", and the config allows at most ", bounds_[i % channels_],
         "; a smaller algorithm.step or algorithm.consensus may help");
  }

  const Device& device_;
  std::size_t agents_;
  std::uint32_t dim_, channels_;
  std::uint64_t seed_;
  std::uint32_t use_;
  bool same_for_all_;
  Coding coding_;
  double bounds_[2] = {};
  std::uint32_t room_ = 0, step_ = 0;
  std::vector<std::size_t> degrees_;
  std::optional<SweepMask> sweep_;
  std::vector<std::size_t> walk_starts_;  // of each step of a sweep
  Array<std::uint32_t> in_starts_, in_senders_, positions_, starts_, walk_, scratch_, bad_;
  Array<double> in_weights_, norms_, misfits_;
  Array<std::uint64_t> bytes_;
  Array<float> values_, differences_;
  std::unique_ptr<std::uint32_t, FreeOnHost> flag_;
  Traffic traffic_;
};

}  // namespace porter::cuda
