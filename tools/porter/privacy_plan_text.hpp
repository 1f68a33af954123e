// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "plan/budget_plan.hpp"

namespace porter::cli {

/// Where alpha, rho and the bytes came from, for people.
struct PlanSources {
  std::string network, compressor;
};

std::string plan_text(const PlanRequest& request, const PlanSources& sources, const Plan& plan);
std::string plan_json(const PlanRequest& request, const PlanSources& sources, const Plan& plan);

/// The plan for a number of bytes: privacy_plan_budget.cpp.
std::string budget_text(const PlanRequest& request, const PlanSources& sources, AgentData data,
                        double bytes, const BudgetPlan& plan);
std::string budget_json(const PlanRequest& request, const PlanSources& sources, AgentData data,
                        double bytes, const BudgetPlan& plan);

/// "4.07 MB".
std::string human_bytes(double bytes);
/// The text with `replacement` for line ends.
std::string with_line_ends(std::string_view text, std::string_view replacement);

}  // namespace porter::cli
