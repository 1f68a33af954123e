// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "audit/audit.hpp"
#include "privacy/secure_noise.hpp"

namespace porter {

/// The one-dimensional neighbours that leak most (the accountant's dominating pair), and what one
/// released number says about which of the two it came from.
///   fixed size:     canary +tau | -tau, all others -tau: the mean is -tau + 2 tau/b where drawn
///   Poisson, full:  canary +tau | -tau (replace) or absent (add/remove), all others 0
class WorstCase {
 public:
  explicit WorstCase(const AuditSetting& setting);

  /// The records as features of FeatureModel: far beyond tau, so that clipping gives tau.
  float canary(bool with) const { return with ? canary_with_ : canary_without_; }
  float other() const { return other_; }

  /// The data of `agents` agents; record `canary` belongs to the first.
  Dataset data(std::size_t agents, std::size_t canary, bool with) const;

  /// log of  ((1-q) N(0) + q N(shift with)) / ((1-q) N(0) + q N(shift without))  at the released
  /// value, with the sigma of the promise.
  double score(double released) const;

  /// The sum of the scores of all rounds of a run, to rounding; `released` is overwritten.
  double run_score(std::span<double> released) const;

 private:
  std::size_t records_;
  float canary_with_, canary_without_, other_;
  double sigma_, base_, rate_, shift_with_, shift_without_;  // the shifts in units of sigma
};

/// What GradientEstimator releases on the worst case, one agent and one coordinate, without its
/// matrices: the same sampler, clip and noise. One object per thread.
class WorstCaseMechanism {
 public:
  explicit WorstCaseMechanism(const AuditSetting& setting);

  /// Whether noise and batches come from secret streams.
  bool secret() const { return options_.secure != nullptr; }

  /// One round of simulated noise: the bits of GradientEstimator from the same streams.
  double release(std::uint64_t seed, std::uint32_t round, std::size_t canary, bool with);
  double release(SamplingStream& sampling, NoiseStream& noise, std::size_t canary, bool with);

  /// All rounds of one run. Simulated batches come from one stream for the whole run and simulated
  /// noise from another, one number after the other instead of the first number of many streams:
  /// the law of `rounds` releases at a tenth of their cost. Valid until the next call.
  std::span<double> release_run(std::uint64_t seed, std::size_t canary, bool with);
  std::span<double> release_run(SamplingStream& sampling, NoiseStream& noise, std::size_t canary,
                                bool with);

  /// The likelihood ratio of all rounds of one run.
  double run_score(std::span<double> released) const { return worst_.run_score(released); }

 private:
  double clipped_mean(std::size_t canary, bool with) const;

  WorstCase worst_;
  GradientOptions options_;
  double inverse_batch_;
  double contribution_[2], other_;  // of the canary (without, with) and of any other record
  std::vector<std::uint32_t> batch_;
  std::vector<float> normals_;
  std::vector<double> released_;  // of each round
};

/// Sets the scores of the runs from `first` on, with the canary or without it.
using ScoreRuns = std::function<void(std::span<double> scores, std::size_t first, bool with)>;

/// A rung of an attacker who scores `runs` runs each way, many at a time: his bound on epsilon
/// against the promise.
AuditRung attack_rung(const AuditSetting& setting, int number, const char* title, std::size_t runs,
                      ThreadPool& pool, const AuditProgress& progress, const ScoreRuns& score);

}  // namespace porter
