// SPDX-License-Identifier: Apache-2.0
#include "mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "audit/statistics.hpp"
#include "core/normal_noise.hpp"
#include "target.hpp"

namespace porter {
namespace {

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

std::vector<double> mechanism_scores(const AuditSetting& setting, std::size_t runs, bool with,
                                     ThreadPool& pool, const AuditProgress& progress) {
  std::vector<double> scores(runs);
  const std::size_t records = setting.sampler.records();
  const WorstCaseMechanism prototype(setting);
  fill_scores(scores, pool, progress, [&](std::size_t first, std::size_t last) {
    auto mechanism = prototype;
    if (!mechanism.secret()) {
      for (std::size_t run = first; run < last; ++run)
        scores[run] = mechanism.run_score(
            mechanism.release_run(run_seed(setting.seed, run, with), run % records, with));
      return;
    }
    SamplingStream sampling;
    NoiseStream noise;
    for (std::size_t run = first; run < last; ++run)
      scores[run] =
          mechanism.run_score(mechanism.release_run(sampling, noise, run % records, with));
  });
  return scores;
}

}  // namespace

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

void fill_scores(std::span<double> scores, ThreadPool& pool, const AuditProgress& progress,
                 const std::function<void(std::size_t first, std::size_t last)>& fill) {
  constexpr std::size_t kSlices = 50;
  const std::size_t pieces = kSlices * 4, n = scores.size();
  for (std::size_t slice = 0; slice < kSlices; ++slice) {
    pool.parallel_for(pieces / kSlices, [&](std::size_t i) {
      const std::size_t piece = slice * (pieces / kSlices) + i;
      fill(n * piece / pieces, n * (piece + 1) / pieces);
    });
    progress(static_cast<double>(slice + 1) / kSlices);
  }
}

AuditCheck epsilon_check(const AuditSetting& setting, std::span<const double> scores_with,
                         std::span<const double> scores_without) {
  const auto bound =
      epsilon_lower_bound(scores_with, scores_without, setting.delta, kAuditConfidence);
  const double limit = setting.claim ? *setting.claim : certified_epsilon(setting).upper;
  return {.name = "epsilon at least",
          .measured = bound.epsilon,
          .limit = limit,
          .caught = bound.epsilon > limit,
          .note = fmt::format("the attacker is right in {} and wrong in {} of {} runs each",
                              bound.hits, bound.false_alarms, bound.trials)};
}

AuditRung audit_mechanism(const AuditSetting& setting, std::size_t runs, ThreadPool& pool,
                          const AuditProgress& progress) {
  check_setting(setting);
  const auto start = std::chrono::steady_clock::now();
  const auto with =
      mechanism_scores(setting, runs, true, pool, [&](double share) { progress(share / 2); });
  const auto without = mechanism_scores(setting, runs, false, pool,
                                        [&](double share) { progress(0.5 + share / 2); });
  AuditRung rung{3, "mechanism", {epsilon_check(setting, with, without)}, 0};
  rung.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return rung;
}

}  // namespace porter
