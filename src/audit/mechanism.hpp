// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "porter/audit/audit.hpp"
#include "worst_case.hpp"

namespace porter {

/// What GradientEstimator releases on the worst case, one agent and one coordinate, without its
/// matrices: the same draws and the same arithmetic, so the same bits from the same streams.
/// One object per thread.
class WorstCaseMechanism {
 public:
  explicit WorstCaseMechanism(const AuditSetting& setting);

  /// Whether noise and batches come from secret streams.
  bool secret() const { return options_.secure.has_value(); }

  /// Simulated noise.
  double release(std::uint64_t seed, std::uint32_t round, std::size_t canary, bool with);
  double release(SamplingStream& sampling, NoiseStream& noise, std::size_t canary, bool with);

  /// The likelihood ratio of all rounds of one run.
  double run_score(std::uint64_t seed, std::size_t canary, bool with);
  double run_score(SamplingStream& sampling, NoiseStream& noise, std::size_t canary, bool with);

 private:
  double clipped_mean(std::size_t canary, bool with) const;

  WorstCase worst_;
  GradientOptions options_;
  std::uint32_t rounds_;
  double contribution_[2], other_;  // of the canary (without, with) and of any other record
  std::vector<std::uint32_t> batch_;
};

/// Sets scores[i] = score(i) for all i, in slices, telling the progress after each.
void fill_scores(std::span<double> scores, ThreadPool& pool, const AuditProgress& progress,
                 const std::function<void(std::size_t first, std::size_t last)>& fill);

/// The check that both rungs with an attacker end in: his bound on epsilon against the promise.
AuditCheck epsilon_check(const AuditSetting& setting, std::span<const double> scores_with,
                         std::span<const double> scores_without);

}  // namespace porter
