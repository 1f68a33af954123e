// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/json.hpp"
#include "privacy_options.hpp"
#include "privacy_plan_text.hpp"
#include "report/table.hpp"

namespace porter::cli {
namespace {

using nlohmann::ordered_json;

constexpr auto kRule =
    "a heuristic: the predicted floor of the squared gradient norm at the agents,\n"
    "(2/T + 2 sqrt(2 (N^2 + (1 - b/m)/(n b)) / T)) D in units of tau^2, N the noise-to-signal,\n"
    "D = 1 + 0.75/S (agents alike) or 1 + (13/S)^2 (unlike) their disagreement, a fit to what\n"
    "was measured on MNIST, S = (1-alpha) T s k / d. Gossip costs no privacy, so bytes count\n"
    "only through S. For each T the smallest batch within 10 % of the least, then the fewest\n"
    "rounds within 15 % of the least";

std::string share(const PlanRequest& request, const BudgetChoice& choice) {
  return fmt::format("{:.3g} %",
                     100 * static_cast<double>(choice.kept) / static_cast<double>(request.dim));
}

std::string choices_table(const PlanRequest& request, const BudgetPlan& plan) {
  Table table{{{"batch", "b"},
               {"rounds", "T"},
               {"gossip", "s"},
               {"kept", "k"},
               {"share", "k/d"},
               {"sigma", "sigma"},
               {"noise_to_signal", "N"},
               {"floor", "floor"},
               {"sweeps", "sweeps"},
               {"disagreement", "D"},
               {"predicted", "floor D"},
               {"bytes", "sent"}},
              {}};
  for (const auto& choice : plan.choices) {
    const auto& cell = choice.cell;
    const auto number = [](double value) { return fmt::format("{:.3g}", value); };
    table.rows.push_back({{.text = std::to_string(cell.batch)},
                          {.text = std::to_string(cell.rounds)},
                          {.text = std::to_string(choice.gossip)},
                          {.text = std::to_string(choice.kept)},
                          {.text = share(request, choice)},
                          {.text = rounded_up(cell.sigma, 4)},
                          {.text = number(cell.noise_to_signal)},
                          {.text = number(cell.floor)},
                          {.text = number(choice.sweeps)},
                          {.text = number(choice.disagreement)},
                          {.text = number(choice.predicted()),
                           .best = cell.batch == plan.recommended.cell.batch &&
                                   cell.rounds == plan.recommended.cell.rounds},
                          {.text = human_bytes(*cell.bytes)}});
  }
  return table.to_text();
}

std::string settings(const BudgetPlan& plan) {
  const auto& best = plan.recommended;
  return fmt::format(
      "--set algorithm.name=porter-sweep --set algorithm.batch={} --set algorithm.rounds={} "
      "--set algorithm.gossip={} --set algorithm.compressor=random_k:k={} "
      "--set algorithm.momentum={:.2g}",
      best.cell.batch, best.cell.rounds, best.gossip, best.kept, best.momentum);
}

ordered_json choice_json(const BudgetChoice& choice) {
  return {{"batch", choice.cell.batch},
          {"rounds", choice.cell.rounds},
          {"gossip", choice.gossip},
          {"kept", choice.kept},
          {"momentum", choice.momentum},
          {"sigma", choice.cell.sigma},
          {"noise_to_signal", choice.cell.noise_to_signal},
          {"predicted_floor", choice.cell.floor},
          {"sweeps", choice.sweeps},
          {"disagreement", choice.disagreement},
          {"predicted", choice.predicted()},
          {"bytes_per_agent", *choice.cell.bytes}};
}

}  // namespace

std::string budget_text(const PlanRequest& request, const PlanSources& sources, AgentData data,
                        double bytes, const BudgetPlan& plan) {
  const auto& best = plan.recommended;
  auto text = fmt::format(
      "request     epsilon = {:g}, delta = {:g} for each of n = {} agents with m = {} records; "
      "d = {} parameters\n"
      "budget      {} sent per agent, a message to several neighbours counted once\n"
      "network     alpha = {:.4g} ({}); agents {}\n"
      "algorithm   porter-sweep: T gradients of b records, after each s gossip steps with k "
      "coordinates of V and X\n\n",
      request.epsilon, request.delta, request.agents, request.records, request.dim,
      human_bytes(bytes), request.alpha, sources.network,
      data == AgentData::alike ? "alike (--unlike: not)" : "unlike");
  text += choices_table(request, plan);
  text += fmt::format(
      "\nrecommended b = {}, T = {}, s = {}, k = {} ({} of d), sigma = {}\n"
      "            epsilon {} certified, noise-to-signal {:.3g}, {} sent per agent\n"
      "            predicted floor {:.3g} tau^2 at the average, {:.3g} tau^2 at the agents\n"
      "            porter run CONFIG.toml {}\n"
      "            momentum is min(0.3, s k / d), at least 5 / T; the step is yours to tune\n"
      "            {}\n",
      best.cell.batch, best.cell.rounds, best.gossip, best.kept, share(request, best),
      rounded_up(best.cell.sigma, 6), rounded_up(plan.epsilon, 4), best.cell.noise_to_signal,
      human_bytes(*best.cell.bytes), best.cell.floor, best.predicted(), settings(plan),
      with_line_ends(kRule, "\n            "));
  for (const auto& note : plan.notes) text += "note        " + note + "\n";
  for (const auto& reason : plan.hopeless) text += "HOPELESS    " + reason + "\n";
  return text;
}

std::string budget_json(const PlanRequest& request, const PlanSources& sources, AgentData data,
                        double bytes, const BudgetPlan& plan) {
  ordered_json json = {{"m", request.records},
                       {"agents", request.agents},
                       {"dim", request.dim},
                       {"epsilon", request.epsilon},
                       {"delta", request.delta},
                       {"clip", request.clip},
                       {"alpha", request.alpha},
                       {"network", sources.network},
                       {"bytes", bytes},
                       {"agents_are", data == AgentData::alike ? "alike" : "unlike"},
                       {"algorithm", "porter-sweep"}};
  json["choices"] = ordered_json::array();
  for (const auto& choice : plan.choices) json["choices"].push_back(choice_json(choice));
  json["recommended"] = choice_json(plan.recommended);
  json["recommended"]["epsilon"] = plan.epsilon;
  json["rule"] = with_line_ends(kRule, " ");
  json["notes"] = plan.notes;
  json["hopeless"] = plan.hopeless;
  return json_text(json, 2) + "\n";
}

}  // namespace porter::cli
