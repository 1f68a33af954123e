// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "audit/audit.hpp"

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

}  // namespace porter
