// SPDX-License-Identifier: Apache-2.0
#include "parts.hpp"

#include <algorithm>
#include <array>

#include "algo/porter_update.hpp"
#include "core/matmul.hpp"
#include "core/normal_noise.hpp"
#include "core/vectors.hpp"
#include "porter/core/error.hpp"

namespace porter::bench {
namespace {

constexpr std::size_t kV = 0, kX = 1, kMatrices = 2;

GradientOptions without_noise(GradientOptions options) {
  options.noise_stddev = 0;
  return options;
}

[[gnu::always_inline]] inline void stream_entries(std::size_t size, double gamma, double eta,
                                                  const double* __restrict gap_v,
                                                  const double* __restrict gap_x,
                                                  double* __restrict u, double* __restrict v,
                                                  double* __restrict x) {
  for (std::size_t j = 0; j < size; ++j) {
    const double tracker = u[j] + gamma * gap_v[j];
    u[j] = tracker;
    v[j] = tracker;
    x[j] += gamma * gap_x[j] - eta * tracker;
  }
}

// The vectors of the round itself: a limit must not be our compiler flags.
void stream_row(std::size_t size, double gamma, double eta, const double* gap_v,
                const double* gap_x, double* u, double* v, double* x) {
  with_vectors([=]<Width>()
                   PORTER_INLINE { stream_entries(size, gamma, eta, gap_v, gap_x, u, v, x); });
}

std::vector<std::size_t> widths(const Setting& setting) {
  std::vector<std::size_t> widths = {setting.problem().train.features};
  if (!find_model(setting.config().model.name).layered) return widths;
  for (const auto width : setting.config().model.hidden) widths.push_back(width);
  widths.push_back(setting.problem().train.scores());
  return widths;
}

constexpr double kValue = sizeof(double), kEntry = sizeof(float) + sizeof(std::uint32_t);
constexpr double kStreamed = 7;  // reads U, gap_v, X, gap_x; writes U, V, X

// Reads S and Q, writes Q and the message, at the entries that travel.
double compress_bytes(const Setting& setting, double value) {
  const auto entries = static_cast<double>(kMatrices * setting.agents() * setting.kept());
  return entries * (3 * value + kEntry);
}

// Stored gaps: every agent adds its own message and one from each neighbour to its gap. Else all
// rows of Q are read, and their sums stay in the cache until they are used.
double mix_bytes(const Setting& setting, bool stores_gaps, double value) {
  if (!stores_gaps)
    return static_cast<double>(kMatrices * setting.agents() * setting.dim()) * value;
  const std::size_t messages = setting.agents() + 2 * setting.network().graph.edges().size();
  return static_cast<double>(kMatrices * messages * setting.kept()) * (2 * value + kEntry);
}

bool has_gaps(const std::vector<NamedRows>& state) {
  return std::any_of(state.begin(), state.end(),
                     [](const auto& rows) { return rows.name.starts_with("gap"); });
}

bool has_gaps(Gossip<>& gossip) {
  std::vector<NamedRows> state;
  gossip.append_state(state);
  return has_gaps(state);
}

}  // namespace

double round_bytes(const Setting& setting, Algorithm& algorithm) {
  const auto nd = static_cast<double>(setting.agents() * setting.dim());
  const double value =
      setting.config().run.precision == Precision::narrow ? sizeof(float) : sizeof(double);
  return kStreamed * value * nd + compress_bytes(setting, value) +
         mix_bytes(setting, has_gaps(algorithm.state()), value);
}

Parts::Parts(Setting& setting)
    : setting_(setting),
      setup_(setting.algorithm()),
      gradients_(setup_.problem, without_noise(setup_.gradients), setup_.pool),
      team_(setup_),
      gossip_(setup_, team_, {{Draw::compress_v}, {Draw::compress_x, setup_.start}}),
      stores_gaps_(has_gaps(gossip_)),
      X_(repeat_row(setup_.start, setting.agents())),
      V_(X_),
      U_(X_.agents(), X_.dim()),
      G_(U_),
      gap_v_(U_),
      gap_x_(U_) {
  run("compress", 1);  // so that there is something to mix
  const auto layers = widths(setting);
  const std::size_t widest = *std::max_element(layers.begin(), layers.end());
  for (std::size_t i = 0; i < setting.agents(); ++i)
    scratch_.emplace_back(setting.batch() * widest, 0.5);
}

std::vector<Part> Parts::list() const {
  const auto nd = static_cast<double>(setting_.agents() * setting_.dim());
  const auto& train = setting_.problem().train;
  const double row_bytes =
      static_cast<double>(sizeof(float) * train.values.size()) / static_cast<double>(train.rows());
  const auto samples = static_cast<double>(setting_.agents() * setting_.batch());
  return {{"gradient", 2 * kValue * nd + samples * row_bytes},
          {"noise", kValue * nd},
          {"compress", compress_bytes(setting_, kValue)},
          {"mix", mix_bytes(setting_, stores_gaps_, kValue)},
          {"update", 8 * kValue * nd},
          {"stream", kStreamed * kValue * nd},
          {"stream_1", kStreamed * kValue * nd},
          {"products", 0}};
}

void Parts::run(const std::string& name, std::uint32_t round) {
  auto& pool = setup_.pool;
  const std::size_t n = X_.agents(), d = X_.dim();
  if (name == "gradient") return gradients_.estimate(X_, round, G_);
  if (name == "noise")
    return for_each_tile(pool, n, d, [&](const Tile& tile) { noise(tile, round); });
  if (name == "compress") {
    gossip_.start(round);
    return pool.parallel_for(n, [&](std::size_t i) { gossip_.publish(i, {V_.row(i), X_.row(i)}); });
  }
  if (name == "mix")
    return gossip_.mix([](const Tile&, const auto& gap) {
      gap(kV);
      gap(kX);
    });
  if (name == "update")
    return for_each_tile(pool, n, d, [&](const Tile& tile) { pass(porter_update<double>, tile); });
  if (name == "stream")
    return for_each_tile(pool, n, d, [&](const Tile& tile) { pass(stream_row, tile); });
  if (name == "stream_1")
    return for_each_tile(one_thread_, n, d, [&](const Tile& tile) { pass(stream_row, tile); });
  if (name == "products") return pool.parallel_for(n, [this](std::size_t i) { products(i); });
  fail(ErrorKind::usage, "no part is called \"", name, "\"");
}

void Parts::noise(const Tile& tile, std::uint32_t round) const {
  std::array<float, kTileSize> buffer;
  NormalNoise(setup_.gradients.seed, static_cast<std::uint32_t>(tile.agent), round)
      .fill(tile.first, std::span(buffer).first(tile.size));
  asm volatile("" : : "r"(buffer.data()) : "memory");  // the values are wanted
}

void Parts::pass(Pass row, const Tile& tile) {
  const auto at = [&](Rows& rows) { return tile.of(rows.row(tile.agent)).data(); };
  row(tile.size, setup_.gamma, setup_.eta, at(gap_v_), at(gap_x_), at(U_), at(V_), at(X_));
}

// Per layer: activations = inputs W^T, dW = delta^T inputs and, above the first, delta W.
void Parts::products(std::size_t agent) {
  const auto layers = widths(setting_);
  const std::size_t rows = setting_.batch();
  const double* a = scratch_[agent].data();
  const double* w = X_.row(agent).data();
  double* out = G_.row(agent).data();
  std::vector<double> activations(rows * *std::max_element(layers.begin(), layers.end()));
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    const std::size_t inputs = layers[l], outputs = layers[l + 1];
    multiply_add(rows, outputs, inputs, {a, inputs, 1}, w, outputs, activations.data(), outputs);
    multiply_add(outputs, inputs, rows, {a, 1, outputs}, a, inputs, out, inputs);
    if (l > 0)
      multiply_add(rows, inputs, outputs, {a, outputs, 1}, w, inputs, activations.data(), inputs);
  }
}

}  // namespace porter::bench
