// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "device.hpp"
#include "offer.hpp"
#include "poisson.hpp"
#include "stack.hpp"
#include "stack_sum.hpp"

namespace porter::cuda {

/// The stages of a stack and the places of all numbers.
struct StackPlan {
  std::vector<DeviceStage> stages;
  std::uint32_t first = 0;  ///< with parameters
  std::size_t weights = 0;  ///< x and transposed weights of an agent
  std::size_t numbers = 0;  ///< of a sample
  std::size_t apart = 0;    ///< of a sample's gradient
  static constexpr std::size_t kMost = std::size_t{1} << 31;

  explicit StackPlan(const LayerStack& stack, bool filters_apart) : weights(stack.dim) {
    const auto narrow = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
    std::vector<DeviceMaps> maps;
    for (std::size_t s = 0; s <= stack.stages.size(); ++s) {
      const auto& shape = s == 0 ? stack.input() : stack.stages[s - 1].out;
      const bool last = s == stack.stages.size();
      DeviceMaps map{narrow(shape.height),   narrow(shape.width),
                     narrow(shape.channels), last ? 0 : narrow(stack.stages[s].window.padding),
                     narrow(numbers),        0};
      numbers += map.padded_size();
      map.deltas = last ? map.first : narrow(numbers);  // those of the scores take their place
      if (!last) numbers += map.size();
      maps.push_back(map);
    }
    for (std::size_t s = 0; s < stack.stages.size(); ++s) {
      const auto& from = stack.stages[s];
      const bool is_first = s == 0;
      const auto& below = stack.stages[is_first ? 0 : s - 1];
      DeviceStage stage{.kind = from.kind,
                        .in = maps[s],
                        .out = maps[s + 1],
                        .kernel = narrow(from.window.kernel),
                        .stride = narrow(from.window.stride),
                        .groups = narrow(from.groups),
                        .units = narrow(from.units()),
                        .inputs = narrow(from.inputs()),
                        .has_parameters = from.has_parameters(),
                        .activates = from.activation.has_value(),
                        .activates_below = !is_first && below.activation.has_value(),
                        .activation = from.activation.value_or(ActivationKind::relu),
                        .activation_below = below.activation.value_or(ActivationKind::relu),
                        .weights = narrow(from.weights),
                        .biases = narrow(from.biases),
                        .transposed = narrow(weights),
                        .apart = narrow(apart),
                        .room = narrow(numbers)};
      if (from.has_weights()) weights += from.units() * from.inputs();
      if (from.kind == StageKind::group_norm) numbers += 4 * from.units();
      if (from.kind == StageKind::group_norm ||
          (from.kind == StageKind::convolution && filters_apart))
        apart += from.parameters();
      stages.push_back(stage);
    }
    while (!stages[first].has_parameters) ++first;
    require(numbers < kMost && weights < kMost, ErrorKind::usage,
            "run.engine = \"cuda\": a network (model.layers) with ", numbers,
            " numbers of a sample between layers and ", stack.dim, " parameters is too large");
  }
};

/// The sums of clipped gradients of a network over images (src/model/stack_pass.cpp) on a device.
/// Work is what they are computed in, Real what X is.
template <class Work, class Real>
class DeviceStack {
 public:
  DeviceStack(const Device& device, const AlgorithmSetup& setup, const Request& request,
              const Clipping& clipping, std::uint32_t stride, std::size_t most_bytes = kMostBytes)
      : device_(device),
        agents_(setup.problem.agents),
        dim_(static_cast<std::uint32_t>(setup.start.size())),
        stride_(stride),
        clipping_(clipping),
        plan_(plan_of(setup, request, clipping)),
        chunk_(chunk_of(setup, plan_, most_bytes)),
        stages_(device, std::span<const DeviceStage>(plan_.stages)),
        weights_(device, agents_ * plan_.weights),
        numbers_(device, agents_ * chunk_ * plan_.numbers),
        apart_(device, agents_ * chunk_ * plan_.apart),
        factors_(device, agents_ * chunk_) {}

  static std::size_t bytes_per_agent(const AlgorithmSetup& setup, const Request& request,
                                     const Clipping& clipping) {
    const auto plan = plan_of(setup, request, clipping);
    return plan.weights * sizeof(Work) + chunk_of(setup, plan, kMostBytes) * bytes_of_sample(plan);
  }

  /// What is computed first, at X.
  Part<StackWeightsKernel<Work, Real>> begin(const Real* X) const {
    using Kernel = StackWeightsKernel<Work, Real>;
    return {
        {stages(), dim_, stride_, X, weights_.data(), static_cast<std::uint32_t>(plan_.weights)},
        {agents_, (plan_.weights + Kernel::kTile - 1) / Kernel::kTile}};
  }
  /// The sums, up to `scales`: rows of G.
  void finish(const SampleRows& rows, Work* G, double* scales) const {
    for (std::uint32_t begin = 0; begin < rows.batch; begin += chunk_) {
      const StackSamples<Work> samples{chunk_,          begin,         plan_.numbers,  plan_.apart,
                                       numbers_.data(), apart_.data(), factors_.data()};
      // Some of a sample's steps have work for few threads: others go on meanwhile, if there are
      // any.
      if (agents_ * chunk_ > 4 * device_.multiprocessors())
        pass<128>(rows, samples);
      else
        pass<256>(rows, samples);
      using Sum = StackSumKernel<Work>;
      device_.launch({agents_, (dim_ + Sum::kTile - 1) / Sum::kTile}, 0,
                     Sum{rows, stages(), clipping_.by_sample, samples, dim_, stride_, G});
    }
    device_.launch({agents_, 1}, kSumBytes, ScaleKernel<Work>{clipping_, dim_, stride_, G, scales});
  }

 private:
  /// Samples beyond it take another turn.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;

  static StackPlan plan_of(const AlgorithmSetup& setup, const Request& request,
                           const Clipping& clipping) {
    return StackPlan(stack_of(request.model, setup.problem.train.features, request.scores),
                     clipping.by_sample);
  }
  static std::size_t bytes_of_sample(const StackPlan& plan) {
    return (plan.numbers + plan.apart) * sizeof(Work) + sizeof(double);
  }
  static std::uint32_t chunk_of(const AlgorithmSetup& setup, const StackPlan& plan,
                                std::size_t most_bytes) {
    const auto& sampler = setup.gradients.sampler;
    const auto batch =
        sampler.kind() == Sampler::poisson ? PoissonBatches::likely_size(sampler) : sampler.batch();
    const auto fits = most_bytes / (setup.problem.agents * bytes_of_sample(plan));
    return static_cast<std::uint32_t>(std::clamp(fits, std::size_t{1}, batch));
  }
  template <int threads>
  void pass(const SampleRows& rows, const StackSamples<Work>& samples) const {
    using Pass = StackPassKernel<Work, threads>;
    device_.launch({agents_ * chunk_, 1}, Pass::kBytes,
                   Pass{rows, stages(), clipping_, weights_.data(), plan_.weights, samples});
  }
  DeviceStages stages() const {
    return {stages_.data(), static_cast<std::uint32_t>(plan_.stages.size()), plan_.first};
  }

  const Device& device_;
  std::size_t agents_;
  std::uint32_t dim_, stride_;
  Clipping clipping_;
  StackPlan plan_;
  std::uint32_t chunk_;
  Array<DeviceStage> stages_;
  Array<Work> weights_, numbers_, apart_;
  Array<double> factors_;
};

}  // namespace porter::cuda
