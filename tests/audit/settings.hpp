// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "audit/audit.hpp"

namespace porter {

/// Full batches: the Gaussian mechanism, whose worst case the attack plays exactly. epsilon 2.386.
inline AuditSetting tight_setting() {
  return {.sampler = {Sampler::full, 100, 100},
          .clip = parse_clip("smooth:1"),
          .sigma = 0.05,
          .rounds = 4,
          .delta = 1e-3,
          .claim = std::nullopt};
}

}  // namespace porter
