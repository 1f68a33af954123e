// SPDX-License-Identifier: Apache-2.0
#include "train/auto_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/exact_math.hpp"
#include "core/text.hpp"
#include "core/vector_math.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

// Everybody who works the number out gets the same one, though W may differ in its last bits.
double two_digits(double value) { return *parse_number<double>(fmt::format("{:.1e}", value)); }

// By how much measured optima are above the bounds, which take the curvature of all directions for
// that of each (docs/steps.md has the table).
constexpr double kPractical = 4;

double cube_root(double x) { return exact_exp(exact_log(x) / 3); }

// What C keeps of x, 1 - |x - C(x)|^2 / |x|^2, over vectors that `draw` makes. It promises rho,
// which is more than what few draws tell of a mask with one entry.
template <class DrawVector>
double kept_of(const Compressor& compressor, std::size_t dim, const DrawVector& draw) {
  constexpr std::uint32_t kDraws = 64;
  std::vector<float> x(dim);
  std::vector<double> rest(dim);
  Payload payload;
  Decoded kept;
  double lost = 0, all = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    draw(i, std::span(rest));
    std::ranges::transform(rest, x.begin(), [](double value) { return static_cast<float>(value); });
    all += squared_norm(rest);
    const RngStream rng(0, Draw::compress_x, 0, i);
    compressor.encode(x, rng, payload);
    compressor.decode(payload, dim, rng, kept);
    for (std::size_t k = 0; k < kept.values.size(); ++k)
      rest[kept.dense ? k : kept.indices[k]] -= double{kept.values[k]};
    lost += squared_norm(rest);
  }
  return std::max(compressor.rho(dim).value_or(0), 1 - lost / all);
}

// How often a release counts: what recursive momentum keeps of one adds up to 1 / beta of it, while
// a sample's bracket is about beta of its gradient.
double gathered(const RunParts& parts) {
  return parts.algorithm().gathers ? 1 / parts.config.algorithm.momentum : 1;
}

// Of a whole gradient.
Clip clip_of(const RunParts& parts) {
  auto clip = parts.config.algorithm.clip;
  clip.tau *= gathered(parts);
  return clip;
}

/// What the step size depends on, per sample unless said otherwise.
struct Scales {
  double steepest = 0;   ///< curvature in any direction, without the regulariser
  double curvature = 0;  ///< bound of it in all directions together
  double gradient = 0;   ///< mean squared length of a gradient, clipped as the run does
  double height = 0;     ///< how far the loss can fall
};

// Lengths of features that the config alone promises, the column of ones included.
double public_square(const RunParts& parts) {
  const auto& data = parts.config.data;
  require(data.scale == FeatureScale::unit && !data.plants_outliers(), ErrorKind::usage,
          "\"auto\" would have to be measured on the records, and everybody would see the number. "
          "With data.scale = \"unit\" rows have a length that is known; else give a number");
  return data.bias ? 2 : 1;
}

Scales public_scales(const RunParts& parts, double curvature) {
  const auto& config = parts.config;
  const auto classes = parts.data.train->classes.size();
  require(!config.algorithm.clip.none() && classes > 0, ErrorKind::usage,
          "\"auto\" from public facts needs clipping and classes: without them nobody knows how "
          "large a gradient and a loss can be; give a number");
  const double tau = clip_of(parts).tau;
  const double bound = curvature * public_square(parts);
  return {bound, bound, tau * tau, exact_log(double(classes))};
}

// An even sample of the rows, without those that count for nothing.
std::vector<Sample> some_rows(const Dataset& data) {
  constexpr std::size_t kMostRows = 1000;
  const auto rows = std::min(data.rows(), kMostRows);
  std::vector<Sample> sample;
  for (std::size_t i = 0; i < rows; ++i)
    if (const auto row = i * data.rows() / rows; !data.is_void(row)) sample.push_back(data[row]);
  return sample;
}

// The largest second derivative at x0, by power iteration on differences of mean gradients. Scores
// near zero are where logistic bends most, and softmax nearly; 1 / L is half of what is stable.
double steepest_at_start(const RunParts& parts, const std::vector<Sample>& rows) {
  constexpr int kIterations = 12;
  constexpr double kStep = 1e-4;
  const auto dim = parts.facts.dim;
  std::vector<double> gradient(dim);
  const auto mean_gradient = [&](const std::vector<double>& x) {
    std::vector<double> mean(dim, 0.0);
    for (const auto& row : rows) {
      weighted_loss(*parts.model, x, row, gradient);
      axpy(1 / static_cast<double>(rows.size()), gradient, mean);
    }
    return mean;
  };
  const auto at_start = mean_gradient(parts.start);
  std::vector<double> direction(dim);
  RngStream(0, Draw::start, 0, 0).fill_normal(direction);
  double steepest = 0;
  for (int i = 0; i < kIterations; ++i) {
    const double length = std::sqrt(squared_norm(direction));
    if (!(length > 0)) break;
    auto there = parts.start;
    axpy(kStep / length, direction, there);
    direction = mean_gradient(there);
    axpy(-1, at_start, direction);
    steepest = std::sqrt(squared_norm(direction)) / kStep;
  }
  return steepest;
}

// At x0.
Scales measured_scales(const RunParts& parts, double curvature) {
  const auto& algorithm = parts.config.algorithm;
  const bool clips = algorithm.clip_target == ClipTarget::sample && !algorithm.clip.none();
  const auto clip = clip_of(parts);
  const auto rows = some_rows(*parts.data.train);
  std::vector<double> gradient(parts.facts.dim);
  double squares = 0, gradients = 0, losses = 0;
  for (const auto& row : rows) {
    for (const double value : row.values) squares += double{row.weight} * (value * value);
    losses += weighted_loss(*parts.model, parts.start, row, gradient);
    if (clips) clip.apply(gradient);
    gradients += squared_norm(gradient);
  }
  const auto count = static_cast<double>(rows.size());
  const double bound = curvature * squares / count;
  return {std::min(bound, steepest_at_start(parts, rows)), bound, gradients / count,
          losses / count};
}

// Agents know their own rows only, and need the same number; nor do they know of the others how
// many there are, which the size of calibrated noise depends on.
bool is_networked(const RunParts& parts) {
  return parts.data.holder || parts.config.run.engine == EngineKind::tls;
}

bool must_be_public(const RunParts& parts) {
  const auto& [algorithm, privacy] = std::tie(parts.config.algorithm, parts.config.privacy);
  require(!is_networked(parts) ||
              (algorithm.batch > 0 && (!privacy || privacy->calibration == Calibration::sigma)),
          ErrorKind::usage,
          "\"auto\" would depend on how many records an agent has, and agents need the same "
          "number; give it, or algorithm.batch and privacy.sigma as numbers");
  return claims_guarantee(parts.config) || is_networked(parts);
}

// The variances of one agent's gradient and of the mean that the model follows, noise included.
struct Variances {
  double alone, together;
};

Variances gradient_variances(const RunParts& parts, const Scales& scales) {
  using Meeting = AlgorithmInfo::Meeting;
  const auto& algorithm = parts.config.algorithm;
  const auto meeting = parts.algorithm().meeting;
  const auto agents = static_cast<double>(parts.facts.agents);
  double samples = scales.gradient / static_cast<double>(parts.facts.batch);
  if (algorithm.clip_target == ClipTarget::batch && !algorithm.clip.none())
    samples = std::min(samples, std::pow(clip_of(parts).tau, 2));
  const auto& privacy = *parts.privacy;
  const auto dim = static_cast<double>(parts.facts.dim);
  const double gain = gathered(parts) * gathered(parts);
  const double noise = gain * dim * privacy.own_variance();
  if (meeting == Meeting::aggregator) return {samples + noise, samples / agents + noise};
  // What a server gets is as much noisier as compression makes it.
  const double sent = meeting == Meeting::server ? parts.facts.compression.omega.value_or(0) : 0;
  // What pairs share is gone in the mean.
  const auto pairs = privacy.pairs();
  const double links = pairs ? 2 * static_cast<double>(pairs->pairs.size()) / agents : 0;
  const double shared = gain * links * dim * privacy.pair_sigma() * privacy.pair_sigma();
  return {samples + noise + shared, (1 + sent) * (samples + noise) / agents};
}

}  // namespace

double kept_share(const Compressor& compressor, std::size_t dim) {
  const auto gaussian = [](std::uint32_t i, std::span<double> x) {
    RngStream(0, Draw::start, 0, i).fill_normal(x);
  };
  const auto flat = [&](std::uint32_t i, std::span<double> x) {
    gaussian(i, x);
    for (double& value : x) value = value < 0 ? -1 : 1;
  };
  const double product = kept_of(compressor, dim, gaussian) * kept_of(compressor, dim, flat);
  require(product > 0, ErrorKind::usage, "\"auto\": the compressor keeps nothing of a vector");
  return std::sqrt(product);
}

double auto_consensus(const RunParts& parts) {
  // lead scales it by omega; lt-admm is stable up to 1, and sends all.
  if (!parts.network || parts.algorithm().needs_unbiased || parts.algorithm().local_steps > 0)
    return 1;
  return two_digits(kept_share(*parts.compressor, parts.facts.dim) / 2);
}

double auto_step(const RunParts& parts, bool own_model) {
  const auto& info = find_model(parts.config.model.name);
  require(!own_model && info.curvature > 0, ErrorKind::usage,
          "\"auto\" needs a model whose curvature has a known bound (logistic, softmax, linear); ",
          own_model ? "the model that is given" : info.name, " has none, so give a number");
  const auto scales = must_be_public(parts) ? public_scales(parts, info.curvature)
                                            : measured_scales(parts, info.curvature);
  const auto [alone, together] = gradient_variances(parts, scales);
  // The regulariser bends every direction alike; noise meets the curvature of all of them.
  const double bend = 2 * parts.config.model.lambda;
  const double steepest = scales.steepest + bend;
  const double all = scales.curvature * static_cast<double>(parts.data.train->outputs) +
                     bend * static_cast<double>(parts.facts.dim);
  const double fall = scales.height / (all * static_cast<double>(parts.config.algorithm.rounds));
  double step = std::min(1 / steepest, kPractical * std::sqrt(2 * fall / together));
  if (parts.network && alone > 0 && fall > 0) {
    const double gamma = parts.algorithm().compresses ? parts.config.algorithm.consensus : 1;
    const double mixing = gamma * (1 - *parts.alpha());
    step = std::min(step, kPractical * cube_root(4 * mixing * fall / alone));
  }
  require(step > 0 && std::isfinite(step), ErrorKind::usage,
          "\"auto\" finds no number, as features, gradients or losses are all zero; give one");
  return two_digits(step);
}

}  // namespace porter
