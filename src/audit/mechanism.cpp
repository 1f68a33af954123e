// SPDX-License-Identifier: Apache-2.0
#include "mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "audit/statistics.hpp"
#include "core/normal_noise.hpp"
#include "core/vector_math.hpp"
#include "privacy/draw_batch.hpp"
#include "target.hpp"

namespace porter {
namespace {

// The smooth clip of this many tau is tau (1 - 1e-9).
constexpr double kFar = 1e9;

// log(1 - q + q exp(a)), a = shift s - shift^2 / 2
double log_mixture(double q, double shift, double s) {
  const double a = shift * (s - shift / 2);
  if (q == 1) return a;
  if (a > 0) return a + std::log(q + (1 - q) * std::exp(-a));
  return std::log1p(q * std::expm1(a));
}

// Rounds whose factors are multiplied before one logarithm is taken. A factor 1 - q + q exp(a) is
// at least 1 - q, and at most kLargest or it goes by itself: no product leaves the range of double.
constexpr std::size_t kGroup = 8;
const double kLargest = std::exp(80.0);

// The sum of log_mixture over all s. Each factor is rounded to a unit, so a run of T rounds is off
// by about T units; in what is left of a difference from 1 nobody is interested.
double sum_of_log_mixtures(double q, double shift, std::span<const double> s) {
  constexpr std::size_t kBlock = 32 * kGroup;
  std::array<double, kBlock> buffer;
  double sum = 0;
  for (std::size_t first = 0; first < s.size(); first += kBlock) {
    const auto part = s.subspan(first, std::min(kBlock, s.size() - first));
    const auto x = std::span(buffer).first(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) x[i] = shift * (part[i] - shift / 2);
    if (q == 1) {
      for (const double a : x) sum += a;
      continue;
    }
    exp_in_place(x);
    for (std::size_t i = 0; i < x.size(); i += kGroup) {
      const auto end = std::min(i + kGroup, x.size());
      double product = 1, largest = 0;
      for (std::size_t j = i; j < end; ++j) {
        const double factor = 1 - q + q * x[j];
        product *= factor;
        largest = std::max(largest, factor);
      }
      if (largest <= kLargest)
        sum += std::log(product);
      else
        for (std::size_t j = i; j < end; ++j) sum += log_mixture(q, shift, part[j]);
    }
  }
  return sum;
}

double contribution(const GradientOptions& options, float feature) {
  std::array value = {double{feature}};
  if (options.clip_target == ClipTarget::sample) options.clip.apply(value);
  return value[0];
}

// The words of a stream, made in vectors ahead of a sampler that takes a few at a time.
class BufferedStream {
 public:
  explicit BufferedStream(const RngStream& stream) : stream_(stream) {}

  void fill_words(std::span<std::uint32_t> out) {
    for (auto& word : out) word = next();
  }
  /// Uniform on [0, 1), 53 random bits.
  double uniform() {
    const std::uint64_t low = next(), high = next();
    return static_cast<double>((high << 32 | low) >> 11) * 0x1p-53;
  }

 private:
  std::uint32_t next() {
    if (used_ == words_.size()) {
      stream_.fill_words(words_);
      used_ = 0;
    }
    return words_[used_++];
  }

  RngStream stream_;
  std::array<std::uint32_t, 128> words_;
  std::size_t used_ = words_.size();
};

std::vector<double> all_scores(std::size_t runs, bool with, ThreadPool& pool,
                               const AuditProgress& progress, const ScoreRuns& score) {
  constexpr std::size_t kSlices = 50, kPerSlice = 4, kPieces = kSlices * kPerSlice;
  std::vector<double> scores(runs);
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    pool.parallel_for(kPerSlice, [&](std::size_t i) {
      const std::size_t piece = slice * kPerSlice + i;
      const std::size_t first = runs * piece / kPieces, last = runs * (piece + 1) / kPieces;
      score(std::span(scores).subspan(first, last - first), first, with);
    });
    progress(static_cast<double>(slice + 1) / kSlices);
  }
  return scores;
}

}  // namespace

WorstCase::WorstCase(const AuditSetting& setting)
    : records_(setting.sampler.records()), sigma_(setting.sigma) {
  const auto b = static_cast<double>(setting.sampler.batch());
  const auto far = static_cast<float>(kFar * setting.clip.tau);
  const double unit = setting.clip.tau / b / sigma_;
  const bool fixed = setting.sampler.kind() == Sampler::fixed;
  const bool replace = setting.adjacency == Adjacency::replace;
  rate_ = b / static_cast<double>(records_);
  canary_with_ = far;
  canary_without_ = replace ? -far : 0;  // a zero adds nothing to a sum with a fixed divisor
  other_ = fixed ? -far : 0;
  base_ = fixed ? -setting.clip.tau : 0;
  shift_with_ = fixed ? 2 * unit : unit;
  shift_without_ = fixed || !replace ? 0 : -unit;
}

Dataset WorstCase::data(std::size_t agents, std::size_t canary, bool with) const {
  Dataset data;
  data.features = 1;
  data.values.assign(agents * records_, other_);
  data.values[canary] = this->canary(with);
  data.labels.assign(agents * records_, 0.0F);
  return data;
}

double WorstCase::score(double released) const {
  const double s = (released - base_) / sigma_;
  const double with = log_mixture(rate_, shift_with_, s);
  return shift_without_ == 0 ? with : with - log_mixture(rate_, shift_without_, s);
}

double WorstCase::run_score(std::span<double> released) const {
  for (double& y : released) y = (y - base_) / sigma_;
  const double with = sum_of_log_mixtures(rate_, shift_with_, released);
  return shift_without_ == 0 ? with : with - sum_of_log_mixtures(rate_, shift_without_, released);
}

WorstCaseMechanism::WorstCaseMechanism(const AuditSetting& setting)
    : worst_(setting),
      options_(planted_options(setting, 1)),
      inverse_batch_(1.0 / static_cast<double>(setting.sampler.batch())),
      normals_(setting.rounds),
      released_(setting.rounds) {
  for (const bool with : {false, true})
    contribution_[with] = contribution(options_, worst_.canary(with));
  other_ = contribution(options_, worst_.other());
}

double WorstCaseMechanism::clipped_mean(std::size_t canary, bool with) const {
  double sum = 0;
  for (const auto index : batch_) sum += index == canary ? contribution_[with] : other_;
  if (options_.clip_target == ClipTarget::sample) return inverse_batch_ * sum;
  return inverse_batch_ * options_.clip.factor(std::abs(sum) * inverse_batch_) * sum;
}

double WorstCaseMechanism::release(std::uint64_t seed, std::uint32_t round, std::size_t canary,
                                   bool with) {
  RngStream sampling(seed, Draw::batch, 0, round);
  options_.sampler.draw(sampling, batch_);
  std::array<float, 1> normal;
  NormalNoise(seed, 0, round).fill(0, normal);
  return clipped_mean(canary, with) + options_.noise_stddev * static_cast<double>(normal[0]);
}

double WorstCaseMechanism::release(SamplingStream& sampling, NoiseStream& noise, std::size_t canary,
                                   bool with) {
  options_.sampler.draw(sampling, batch_);
  std::array g = {clipped_mean(canary, with)};
  options_.secure->release(g, noise);
  return g[0];
}

std::span<double> WorstCaseMechanism::release_run(std::uint64_t seed, std::size_t canary,
                                                  bool with) {
  BufferedStream sampling(RngStream(seed, Draw::batch, 0, 1));
  NormalNoise(seed, 0, 1).fill(0, normals_);
  const bool full = options_.sampler.kind() == Sampler::full;  // then all rounds have one mean
  double mean = 0;
  for (std::size_t i = 0; i < released_.size(); ++i) {
    if (i == 0 || !full) {
      options_.sampler.draw(sampling, batch_);
      mean = clipped_mean(canary, with);
    }
    released_[i] = mean + options_.noise_stddev * static_cast<double>(normals_[i]);
  }
  return released_;
}

std::span<double> WorstCaseMechanism::release_run(SamplingStream& sampling, NoiseStream& noise,
                                                  std::size_t canary, bool with) {
  for (double& y : released_) y = release(sampling, noise, canary, with);
  return released_;
}

AuditRung attack_rung(const AuditSetting& setting, int number, const char* title, std::size_t runs,
                      ThreadPool& pool, const AuditProgress& progress, const ScoreRuns& score) {
  return climb_rung(setting, number, title, [&]() -> std::vector<AuditCheck> {
    const auto with = all_scores(runs, true, pool, half_of(progress, false), score);
    const auto without = all_scores(runs, false, pool, half_of(progress, true), score);
    const auto bound = epsilon_lower_bound(with, without, setting.delta, kAuditConfidence);
    const double limit = setting.claim ? *setting.claim : certified_epsilon(setting).upper;
    return {{.name = "epsilon at least",
             .measured = bound.epsilon,
             .limit = limit,
             .caught = bound.epsilon > limit,
             .note = fmt::format("the attacker is right in {} and wrong in {} of {} runs each",
                                 bound.hits, bound.false_alarms, bound.trials)}};
  });
}

AuditRung audit_mechanism(const AuditSetting& setting, std::size_t runs, ThreadPool& pool,
                          const AuditProgress& progress) {
  check_setting(setting);
  const WorstCaseMechanism prototype(setting);
  const auto score = [&](std::span<double> scores, std::size_t first, bool with) {
    auto mechanism = prototype;
    std::optional<SamplingStream> sampling;
    std::optional<NoiseStream> noise;
    if (mechanism.secret()) sampling.emplace(), noise.emplace();
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const std::size_t run = first + i, canary = run % setting.sampler.records();
      const auto released =
          noise ? mechanism.release_run(*sampling, *noise, canary, with)
                : mechanism.release_run(run_seed(setting.seed, run, with), canary, with);
      scores[i] = mechanism.run_score(released);
    }
  };
  return attack_rung(setting, 3, "mechanism", runs, pool, progress, score);
}

}  // namespace porter
