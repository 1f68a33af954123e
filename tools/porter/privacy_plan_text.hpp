// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "porter/privacy/plan.hpp"

namespace porter::cli {

/// Where alpha, rho and the bytes came from, for people.
struct PlanSources {
  std::string network, compressor;
};

std::string plan_text(const PlanRequest& request, const PlanSources& sources, const Plan& plan);
std::string plan_json(const PlanRequest& request, const PlanSources& sources, const Plan& plan);

}  // namespace porter::cli
