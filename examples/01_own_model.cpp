// SPDX-License-Identifier: Apache-2.0
// A model of your own: one class with three functions. Five agents on a ring, who share no data,
// fit a curve y = a exp(b t) together with PORTER-GC, sending one of two numbers a round.
#include <cmath>
#include <cstdio>

#include "porter/algo/algorithm.hpp"

using namespace porter;

// The loss is half the squared residual; x = (a, b).
class ExponentialCurve final : public Model {
 public:
  std::size_t dim() const override { return 2; }

  double loss(std::span<const double> x, const Sample& sample,
              std::span<double> gradient) const override {
    const double t = sample.values[0], growth = std::exp(x[1] * t);
    const double residual = x[0] * growth - sample.label;
    if (!gradient.empty()) {
      gradient[0] = residual * growth;
      gradient[1] = residual * x[0] * t * growth;
    }
    return residual * residual / 2;
  }

  double predict(std::span<const double> x, const Sample& sample) const override {
    return x[0] * std::exp(x[1] * sample.values[0]);
  }
};

int main() {
  constexpr std::size_t kAgents = 5, kSamplesEach = 8;

  // Agent i sees only its own stretch of t; the truth is a = 2, b = -1.
  Dataset data;
  data.features = 1;
  for (std::size_t i = 0; i < kAgents * kSamplesEach; ++i) {
    const float t = static_cast<float>(i) / (kAgents * kSamplesEach) * 2;
    data.values.push_back(t);
    data.labels.push_back(2 * std::exp(-t));
  }

  const ExponentialCurve model;
  const auto graph = make_graph("ring", kAgents, 1);
  const Network network{graph, make_mixing("fdla", graph)};
  const auto compressor = make_compressor("top_k:0.5");
  ThreadPool pool;
  const auto algorithm = make_algorithm(
      "porter-gc", {.problem = {model, data, kAgents},
                    .network = &network,
                    .compressor = *compressor,
                    .pool = pool,
                    .start = {1, 0},
                    .eta = 0.05,
                    .gamma = 0.3,
                    .gradients = {.sampler = {Sampler::full, kSamplesEach, kSamplesEach},
                                  .clip = parse_clip("smooth:1"),
                                  .clip_target = ClipTarget::batch}});
  for (std::uint32_t round = 1; round <= 5000; ++round) algorithm->step(round);

  const auto x = mean_row(algorithm->iterates());
  std::printf("a = %.4f, b = %.4f; %llu bytes sent per agent\n", x[0], x[1],
              static_cast<unsigned long long>(algorithm->traffic().message_bytes / kAgents));
  return std::abs(x[0] - 2) < 0.05 && std::abs(x[1] + 1) < 0.05 ? 0 : 1;
}
