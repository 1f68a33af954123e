// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace porter {

/// Whether the agents' data are alike (dealt at random) or not (by label, by place, by customer).
enum class AgentData { alike, unlike };

/// A private run of porter-sweep that an agent can send: T gradients of b records, after each of
/// them s gossip steps with k coordinates of both vectors.
struct BudgetChoice {
  PlanCell cell;  ///< batch, rounds, certified sigma, floor of the average; bytes sent per agent
  std::uint32_t gossip = 1;  ///< s
  std::size_t kept = 1;      ///< k
  double sweeps = 0;         ///< T s k / d: how often each coordinate is mixed
  double disagreement = 1;   ///< disagreement_factor() of it
  double momentum = 1;       ///< min(0.3, s k / d), but at least 5 / T
  double predicted() const { return cell.floor * disagreement; }
};

/// How much worse agents who disagree do than their average, after each coordinate has been mixed
/// `sweeps` times with mixing rate alpha:
///   1 + 0.75 / S  (alike),  1 + (13 / S)^2  (unlike),   S = (1 - alpha) sweeps.
///
/// A fit: test error of the agents against that with dense messages, on MNIST with messages of
/// 100 % to 0.5 % and five graphs (experiments budget-messages, budget-graph, surpass-by-label).
/// Bytes count only through S: only gradients cost privacy, so the number of rounds is free to be
/// what suits the noise.
double disagreement_factor(AgentData data, double alpha, double sweeps);

/// The choice with this cell, s and k; `cell.bytes` is set.
BudgetChoice budget_choice(const PlanRequest& request, AgentData data, PlanCell cell,
                           std::uint32_t gossip, std::size_t kept);

struct BudgetPlan {
  std::vector<BudgetChoice> choices;         ///< the best few by predicted(), best first
  BudgetChoice recommended;                  ///< sigma to 1e-4 relative
  double epsilon = 0;                        ///< certified, of the recommendation
  std::vector<std::string> hopeless, notes;  ///< as in Plan
};

/// The plan for at most `bytes` sent per agent, a message to several neighbours counted once. Of
/// the choices within 15 % of the best the fewest rounds win. No choice spends bytes that would
/// lower the disagreement below 1.05. `request.rho` and `bytes_per_vector` have no part in it.
/// Error{usage} if a value is out of range or not even one coordinate a round can be sent.
BudgetPlan make_budget_plan(const PlanRequest& request, AgentData data, double bytes,
                            const PlanProgress& progress = {}, std::size_t threads = 0);

}  // namespace porter
