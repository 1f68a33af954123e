// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plan/budget_plan.hpp"

namespace porter::cli {

/// Where alpha, rho and the bytes came from, for people.
struct PlanSources {
  std::string network, compressor;
};

std::string plan_text(const PlanRequest& request, const PlanSources& sources, const Plan& plan);
std::string plan_json(const PlanRequest& request, const PlanSources& sources, const Plan& plan);

/// The plan for a number of bytes.
std::string budget_text(const PlanRequest& request, const PlanSources& sources, AgentData data,
                        double bytes, const BudgetPlan& plan);
std::string budget_json(const PlanRequest& request, const PlanSources& sources, AgentData data,
                        double bytes, const BudgetPlan& plan);

}  // namespace porter::cli
