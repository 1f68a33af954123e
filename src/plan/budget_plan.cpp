// SPDX-License-Identifier: Apache-2.0
#include "plan/budget_plan.hpp"

#include <algorithm>
#include <cmath>

#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr double kAlike = 0.75, kUnlike = 13;  // disagreement_factor
constexpr double kEnough = 1.05;               // a disagreement that is as good as none
// Predictions this near to each other count as equal, between batches and between rounds.
constexpr double kBatchSlack = 1.1, kRoundsSlack = 1.15;
constexpr double kVectors = 2, kValueBytes = 4, kChecksumBytes = 4;

double message_bytes(std::size_t kept) {
  return kVectors * (kValueBytes * static_cast<double>(kept) + kChecksumBytes);
}

// The sweeps after which the disagreement is kEnough.
double enough_sweeps(AgentData data, double alpha) {
  const double mixed =
      data == AgentData::alike ? kAlike / (kEnough - 1) : kUnlike / std::sqrt(kEnough - 1);
  return mixed / (1 - alpha);
}

// The s and k that spend the bytes of one gradient: one step if it can carry them, for a step has a
// latency; else as many as needed. Nothing where they do not carry one coordinate.
std::optional<BudgetChoice> spend(const PlanRequest& request, AgentData data, const PlanCell& cell,
                                  double bytes) {
  const double dim = static_cast<double>(request.dim), rounds = static_cast<double>(cell.rounds);
  const auto values_in = [](double message) {
    return std::floor((message / kVectors - kChecksumBytes) / kValueBytes);
  };
  const double useful = std::ceil(enough_sweeps(data, request.alpha) * dim / rounds);
  const double whole_vectors = bytes / rounds / message_bytes(request.dim);
  const double steps = std::max(1.0, std::ceil(std::min(useful / dim, whole_vectors)));
  const double kept = std::min({dim, std::ceil(useful / steps), values_in(bytes / rounds / steps)});
  if (kept < 1) return std::nullopt;
  return budget_choice(request, data, cell, static_cast<std::uint32_t>(steps),
                       static_cast<std::size_t>(kept));
}

// The first whose prediction is the least, but for the slack.
const BudgetChoice& first_within(double slack, const std::vector<BudgetChoice>& choices) {
  const double least = std::ranges::min(choices, {}, &BudgetChoice::predicted).predicted();
  return *std::ranges::find_if(
      choices, [&](const auto& choice) { return choice.predicted() <= slack * least; });
}

// For each number of rounds the smallest batch that counts as the best; by rounds, ascending.
std::vector<BudgetChoice> best_batches(const Plan& noise, const std::vector<BudgetChoice>& all) {
  std::vector<BudgetChoice> chosen;
  for (const auto rounds : noise.rounds) {
    std::vector<BudgetChoice> same;
    for (const auto& choice : all)
      if (choice.cell.rounds == rounds) same.push_back(choice);
    if (!same.empty()) chosen.push_back(first_within(kBatchSlack, same));
  }
  return chosen;
}

void judge(const PlanRequest& request, AgentData data, double bytes, BudgetPlan& plan) {
  const auto& best = plan.recommended;
  if (best.sweeps < 1)
    plan.hopeless.push_back(concat("the bytes last for ", best.sweeps,
                                   " of a sweep through the coordinates: the agents train almost "
                                   "alone; expected at least ",
                                   8 * static_cast<double>(request.dim), " bytes, for one sweep"));
  if (best.disagreement > 2)
    plan.notes.push_back(concat("the agents are predicted ", best.disagreement,
                                " times as wrong as their average: more bytes, a better connected "
                                "graph, or fewer parameters help"));
  if (*best.cell.bytes < 0.9 * bytes && best.disagreement < kEnough * 1.01)
    plan.notes.push_back(concat(bytes - *best.cell.bytes,
                                " bytes of the budget are left: mixing more often is predicted to "
                                "gain less than 5 %"));
  if (data == AgentData::alike)
    plan.notes.push_back("agents whose data are unlike (by label, by place) need far more bytes");
}

}  // namespace

double disagreement_factor(AgentData data, double alpha, double sweeps) {
  const double mixed = (1 - alpha) * sweeps;
  return data == AgentData::alike ? 1 + kAlike / mixed : 1 + std::pow(kUnlike / mixed, 2);
}

BudgetChoice budget_choice(const PlanRequest& request, AgentData data, PlanCell cell,
                           std::uint32_t gossip, std::size_t kept) {
  const double steps = static_cast<double>(cell.rounds) * gossip;
  BudgetChoice choice{.cell = cell, .gossip = gossip, .kept = kept};
  choice.cell.bytes = steps * message_bytes(kept);
  choice.sweeps = steps * static_cast<double>(kept) / static_cast<double>(request.dim);
  choice.disagreement = disagreement_factor(data, request.alpha, choice.sweeps);
  const double rounds = static_cast<double>(cell.rounds);
  choice.momentum = std::min(1.0, std::max(std::min(0.3, choice.sweeps / rounds), 5 / rounds));
  return choice;
}

BudgetPlan make_budget_plan(const PlanRequest& request, AgentData data, double bytes,
                            const PlanProgress& progress, std::size_t threads) {
  require(bytes > 0 && std::isfinite(bytes), ErrorKind::usage,
          "bytes: expected a positive number, found ", bytes);
  auto gradients = request;
  gradients.rho = 1;  // mixing on a shared mask is exact
  gradients.bytes_per_vector.reset();
  const auto noise = make_plan(gradients, progress, threads);

  std::vector<BudgetChoice> all;  // by batch, ascending
  for (const auto& cell : noise.cells)
    if (request.allows(cell))
      if (const auto choice = spend(request, data, cell, bytes)) all.push_back(*choice);
  const auto rounds = request.rounds.value_or(noise.rounds.front());
  require(!all.empty(), ErrorKind::usage, "bytes: ", bytes,
          " cannot carry one coordinate in each of ", rounds, " rounds; expected at least ",
          static_cast<double>(rounds) * message_bytes(1));
  BudgetPlan plan;
  plan.choices = best_batches(noise, all);
  const auto& best = first_within(kRoundsSlack, plan.choices);  // the fewest rounds
  auto event = gradients.event(best.cell.batch, best.cell.rounds);
  event.noise_multiplier = calibrate_noise_multiplier(event, request.epsilon, request.delta);
  const auto cell = gradients.cell(event, event.noise_multiplier);
  plan.recommended = budget_choice(request, data, cell, best.gossip, best.kept);
  plan.epsilon = privacy::epsilon(event, request.delta).upper;
  plan.hopeless = noise.hopeless;
  judge(request, data, bytes, plan);
  return plan;
}

}  // namespace porter
