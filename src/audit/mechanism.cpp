// SPDX-License-Identifier: Apache-2.0
#include "mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "audit/statistics.hpp"
#include "core/normal_noise.hpp"
#include "privacy/draw_batch.hpp"
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
