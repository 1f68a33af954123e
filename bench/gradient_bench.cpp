// SPDX-License-Identifier: Apache-2.0
// Stochastic gradients of the paper's two models as a round needs them, the matrix products alone,
// what a clip costs a convolution, and an evaluation. The data have the sizes and the share of
// zeros of a9a and MNIST.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/matmul.hpp"
#include "core/vector_math.hpp"
#include "porter/algo/gradients.hpp"
#include "porter/core/rng.hpp"
#include "train/evaluator.hpp"

namespace {

using namespace porter;

// `share` of the features of a row differ from the background.
Dataset make_data(std::size_t rows, std::size_t features, std::size_t classes, double share,
                  bool sparse, float background) {
  RngStream rng(1, Draw::test, 0, 0);
  Dataset data;
  data.features = features;
  for (std::size_t c = 0; c < classes; ++c) data.classes.push_back(std::to_string(c));
  if (sparse) data.row_starts.push_back(0);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t j = 0; j < features; ++j) {
      const bool entry = j > 0 && rng.uniform() < share;
      if (sparse && !entry) continue;
      data.values.push_back(entry ? static_cast<float>(rng.uniform()) : background);
      if (sparse) data.columns.push_back(static_cast<std::uint32_t>(j));
    }
    if (sparse) data.row_starts.push_back(data.values.size());
    data.labels.push_back(static_cast<float>(rng.below(classes)));
  }
  return data;
}

const Dataset& images(bool dense) {
  static const Dataset some = make_data(10000, 784, 10, 0.19, false, -0.42F);
  static const Dataset full = make_data(10000, 784, 10, 0.999, false, 0.0F);
  return dense ? full : some;
}

const Dataset& census() {
  static const Dataset data = make_data(32560, 124, 2, 0.113, true, 0.0F);
  return data;
}

constexpr std::size_t kAgents = 10;

// The gradients of all agents; range(0) is the batch.
void gradients(benchmark::State& state, const ModelOptions& options, const Dataset& data,
               const char* clip = "smooth:1") {
  const auto model = make_model(options, data.features, data.classes.size());
  ThreadPool pool(1);
  const BatchSampler sampler(Sampler::fixed, data.rows() / kAgents,
                             static_cast<std::size_t>(state.range(0)));
  GradientEstimator estimator({*model, data, kAgents},
                              {.sampler = sampler, .clip = parse_clip(clip)}, pool);
  Rows X(kAgents, model->dim()), G(X);
  for (std::uint32_t i = 0; i < kAgents; ++i) {
    RngStream(2, Draw::test, i, 0).fill_normal(X.row(i));
    scale(0.1, X.row(i));
  }
  std::uint32_t round = 0;
  for (auto _ : state) {
    ++round;
    for (std::size_t agent = 0; agent < kAgents; ++agent)
      estimator.prepare(agent, X.row(agent), round, G.row(agent));
    benchmark::DoNotOptimize(G.row(0).data());
  }
  state.counters["per_gradient"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kAgents,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void mlp_images(benchmark::State& state) { gradients(state, {.name = "mlp"}, images(false)); }
void mlp_dense(benchmark::State& state) { gradients(state, {.name = "mlp"}, images(true)); }
void cnn(benchmark::State& state) {
  gradients(state, {.name = "cnn", .image = {28, 28}}, images(false));
}
// Nothing is clipped: gradients of single samples are neither formed nor measured.
void cnn_unclipped(benchmark::State& state) {
  gradients(state, {.name = "cnn", .image = {28, 28}}, images(false), "none");
}
// Three convolutions with more and more filters on smaller and smaller maps: 13^2, 6^2 and 2^2.
const ModelOptions kNarrowing{
    .name = "layers",
    .layers = {"conv:32x3/2", "relu", "conv:64x3/2", "relu", "conv:256x3/2", "relu"},
    .image = {28, 28}};
void narrowing(benchmark::State& state) { gradients(state, kNarrowing, images(false)); }
void narrowing_unclipped(benchmark::State& state) {
  gradients(state, kNarrowing, images(false), "none");
}
void logistic(benchmark::State& state) {
  gradients(state, {.name = "logistic", .lambda = 0.2}, census());
}
BENCHMARK(mlp_images)->Arg(1)->Arg(32)->Arg(128)->Unit(benchmark::kMicrosecond);
BENCHMARK(mlp_dense)->Arg(1)->Arg(32)->Arg(128)->Unit(benchmark::kMicrosecond);
BENCHMARK(cnn)->Arg(1)->Arg(32)->Unit(benchmark::kMicrosecond);
BENCHMARK(cnn_unclipped)->Arg(32)->Unit(benchmark::kMicrosecond);
BENCHMARK(narrowing)->Arg(32)->Unit(benchmark::kMicrosecond);
BENCHMARK(narrowing_unclipped)->Arg(32)->Unit(benchmark::kMicrosecond);
BENCHMARK(logistic)->Arg(1)->Arg(32)->Unit(benchmark::kMicrosecond);

// The matrix products of one MLP gradient with batch range(0): forward and backward of the first
// layer, three of the second.
void mlp_products(benchmark::State& state) {
  const auto b = static_cast<std::size_t>(state.range(0));
  std::vector<double> a(b * 784), w(784 * 64), h(b * 64), v(64 * 10), s(b * 10), g(64 * 784);
  RngStream rng(3, Draw::test, 0, 0);
  for (auto* values : {&a, &w, &v}) rng.fill_normal(*values);
  for (auto _ : state) {
    multiply_add(b, 64, 784, {a.data(), 784, 1}, w.data(), 64, h.data(), 64);
    multiply_add(b, 10, 64, {h.data(), 64, 1}, v.data(), 10, s.data(), 10);
    multiply_add(b, 64, 10, {s.data(), 10, 1}, v.data(), 64, h.data(), 64);
    multiply_add(10, 64, b, {s.data(), 1, 10}, h.data(), 64, v.data(), 64);
    multiply_add(64, 784, b, {h.data(), 1, 64}, a.data(), 784, g.data(), 784);
    benchmark::ClobberMemory();
    state.PauseTiming();
    std::fill(h.begin(), h.end(), 0.1);  // or the numbers grow out of range
    std::fill(s.begin(), s.end(), 0.1);
    state.ResumeTiming();
  }
}
BENCHMARK(mlp_products)->Arg(32)->Arg(128)->Unit(benchmark::kMicrosecond);

// What the clip of a sample costs a convolution of T = range(0) positions, p = range(1) numbers in
// a window and c = range(2) filters, from its windows and deltas to what is added to the sum.
struct Filters {
  explicit Filters(const benchmark::State& state)
      : T(static_cast<std::size_t>(state.range(0))),
        p(static_cast<std::size_t>(state.range(1))),
        c(static_cast<std::size_t>(state.range(2))),
        windows(T * p),
        deltas(T * c),
        across(p * T),
        deltas_across(c * T),
        gram(T * T),
        delta_gram(T * T),
        own(p * c),
        sum(p * c) {
    RngStream rng(4, Draw::test, 0, 0);
    for (auto* values : {&windows, &deltas}) rng.fill_normal(*values);
  }
  void add_product(std::vector<double>& to) {
    multiply_add(c, p, T, {deltas.data(), 1, c}, windows.data(), p, to.data(), p);
  }
  // As StackPass does it: the gradient is formed, its norm is known, then it is added.
  double form() {
    std::fill(own.begin(), own.end(), 0.0);
    add_product(own);
    return squared_norm(own);
  }
  // On and above the diagonal, in panels; the norm is that of the weights, as above.
  double ghost() {
    constexpr std::size_t kPanel = 16;
    std::fill(gram.begin(), gram.end(), 0.0);
    std::fill(delta_gram.begin(), delta_gram.end(), 0.0);
    transpose(T, p, windows.data(), p, across.data(), T);
    transpose(T, c, deltas.data(), c, deltas_across.data(), T);
    double above = 0, diagonal = 0;
    for (std::size_t i = 0; i < T; i += kPanel) {
      const std::size_t rows = std::min(kPanel, T - i), at = i * T + i;
      multiply_add(rows, T - i, p, {windows.data() + i * p, p, 1}, across.data() + i, T,
                   gram.data() + at, T);
      multiply_add(rows, T - i, c, {deltas.data() + i * c, c, 1}, deltas_across.data() + i, T,
                   delta_gram.data() + at, T);
      for (std::size_t k = i; k < i + rows; ++k) {
        diagonal += gram[k * T + k] * delta_gram[k * T + k];
        const std::size_t right = k * T + k + 1, count = T - k - 1;
        above +=
            dot(std::span(gram).subspan(right, count), std::span(delta_gram).subspan(right, count));
      }
    }
    return diagonal + 2 * above;
  }

  std::size_t T, p, c;
  std::vector<double> windows, deltas, across, deltas_across, gram, delta_gram, own, sum;
};

void clip_formed(benchmark::State& state) {
  Filters filters(state);
  for (auto _ : state) {
    axpy(1 / filters.form(), filters.own, filters.sum);
    benchmark::ClobberMemory();
  }
}
void clip_ghost(benchmark::State& state) {
  Filters filters(state);
  if (std::abs(filters.ghost() / filters.form() - 1) > 1e-9) state.SkipWithError("norms differ");
  for (auto _ : state) {
    benchmark::DoNotOptimize(filters.ghost());
    scale(1.0, filters.deltas);  // by the factor
    filters.add_product(filters.sum);
    benchmark::ClobberMemory();
  }
}
void filter_sizes(benchmark::internal::Benchmark* bench) {
  for (const auto& [T, p, c] : {std::array{169, 64, 16},
                                {25, 256, 32},  // cnn
                                {36, 288, 64},
                                {4, 576, 256},  // narrowing
                                {49, 576, 64},
                                {9, 1152, 128},
                                {4, 2304, 256}})
    bench->Args({T, p, c});
  bench->Unit(benchmark::kMicrosecond);
}
BENCHMARK(clip_formed)->Apply(filter_sizes);
BENCHMARK(clip_ghost)->Apply(filter_sizes);

// Loss, accuracy and full gradient of one point, on all cores.
void evaluation(benchmark::State& state, const ModelOptions& options, const Dataset& data) {
  const auto model = make_model(options, data.features, data.classes.size());
  ThreadPool pool;
  std::vector<double> x(model->dim());
  RngStream(2, Draw::test, 0, 0).fill_normal(x);
  for (auto _ : state) benchmark::DoNotOptimize(evaluate_point(*model, data, x, true, pool));
  state.counters["per_row"] =
      benchmark::Counter(static_cast<double>(state.iterations() * data.rows()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
void evaluate_images(benchmark::State& state) { evaluation(state, {.name = "mlp"}, images(false)); }
void evaluate_dense(benchmark::State& state) { evaluation(state, {.name = "mlp"}, images(true)); }
void evaluate_logistic(benchmark::State& state) {
  evaluation(state, {.name = "logistic", .lambda = 0.2}, census());
}
BENCHMARK(evaluate_images)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(evaluate_dense)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(evaluate_logistic)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
