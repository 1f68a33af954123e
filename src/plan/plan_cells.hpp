// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/plan.hpp"

namespace porter {

/// What a cell releases; the noise multiplier is not set.
PrivacyEvent event_of(const PlanRequest& request, std::size_t batch, std::uint64_t rounds);

/// The cell with noise multiplier z.
PlanCell cell_of(const PlanRequest& request, std::size_t batch, std::uint64_t rounds, double z);

}  // namespace porter
