// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "audit/audit.hpp"

namespace porter {

/// The L2 distance that the promise allows between the clipped means of neighbours.
double promised_sensitivity(const AuditSetting& setting);

/// How an agent's gradients are made under the setting, with its fault, from the setting's seed.
GradientOptions seeded_options(const AuditSetting& setting);
/// The same with secret noise where that is promised; its tables take milliseconds to build.
GradientOptions planted_options(const AuditSetting& setting, std::size_t dim);

/// The gradients of all agents as the audit sees them released. `life` counts the starts of the
/// process; the setting's seed is the same in all.
class ReleasedGradients {
 public:
  ReleasedGradients(const AuditSetting& setting, const Problem& problem, std::uint32_t life,
                    ThreadPool& pool);
  void estimate(const Rows& X, std::uint32_t round, Rows& G);

 private:
  GradientEstimator estimator_;
  bool shared_;
  double sigma_;
  std::uint64_t shared_seed_;
};

/// A seed of its own for each run of the audit.
std::uint64_t run_seed(std::uint64_t seed, std::size_t run, bool with_canary);

}  // namespace porter
