// SPDX-License-Identifier: Apache-2.0
#include "privacy_plan_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/json.hpp"
#include "progress.hpp"
#include "report/table.hpp"

namespace porter::cli {
namespace {

using nlohmann::ordered_json;

constexpr auto kPlanRule =
    "a heuristic: the least predicted floor of the squared gradient norm,\n"
    "2/T + 2 sqrt(2 (N^2 + (1 - b/m)/(n b)) / T) in units of tau^2 with N the noise-to-signal,\n"
    "for T of at least 1/((1-alpha)^2 rho); of all within 25 % of the least the fewest rounds,\n"
    "then the smallest batch";

constexpr auto kBudgetRule =
    "a heuristic: the predicted floor of the squared gradient norm at the agents,\n"
    "(2/T + 2 sqrt(2 (N^2 + (1 - b/m)/(n b)) / T)) D in units of tau^2, N the noise-to-signal,\n"
    "D = 1 + 0.75/S (agents alike) or 1 + (13/S)^2 (unlike) their disagreement, a fit to what\n"
    "was measured on MNIST, S = (1-alpha) T s k / d. Gossip costs no privacy, so bytes count\n"
    "only through S. For each T the smallest batch within 10 % of the least, then the fewest\n"
    "rounds within 15 % of the least";

// One row per batch size, one column per number of rounds; the recommended cell is marked.
template <class Text>
std::string grid(const Plan& plan, const Text& text) {
  Table table{{{"batch", "b"}}};
  for (const auto rounds : plan.rounds)
    table.columns.push_back({fmt::format("T{}", rounds), fmt::format("T = {}", rounds)});
  const auto& best = plan.recommended;
  for (const auto& cell : plan.cells) {
    if (cell.rounds == plan.rounds.front())
      table.rows.push_back({{.text = std::to_string(cell.batch)}});
    table.rows.back().push_back(
        {.text = text(cell), .best = cell.batch == best.batch && cell.rounds == best.rounds});
  }
  return table.to_text();
}

std::string bytes_table(const Plan& plan) {
  Table table;
  auto& row = table.rows.emplace_back();
  for (std::size_t j = 0; j < plan.rounds.size(); ++j) {
    table.columns.push_back(
        {fmt::format("T{}", plan.rounds[j]), fmt::format("T = {}", plan.rounds[j])});
    row.push_back({.text = human_bytes(*plan.cell(0, j).bytes),
                   .best = plan.rounds[j] == plan.recommended.rounds});
  }
  return table.to_text();
}

std::string conditions_table(const PlanRequest& request, const Plan& plan) {
  const auto& best = plan.recommended;
  const auto theirs = side_conditions(request, 1, plan.orders.rounds);
  const auto ours = side_conditions(request, best.batch, static_cast<double>(best.rounds));
  const auto verdict = [](const SideCondition& condition) {
    return fmt::format("{}  ({:.4g}, {:.4g})", condition.holds ? "holds" : "FAILS", condition.left,
                       condition.right);
  };
  Table table{{text_column("theorem", "theorem"), text_column("condition", "condition"),
               text_column("paper", "b = 1, T = phi_m^-2"),
               text_column("recommended", fmt::format("b = {}, T = {}", best.batch, best.rounds))}};
  for (std::size_t i = 0; i < ours.size(); ++i)
    table.rows.push_back(
        {{ours[i].theorem}, {ours[i].text}, {verdict(theirs[i])}, {verdict(ours[i])}});
  return table.to_text();
}

std::string orders_text(const Plan& plan) {
  const auto& orders = plan.orders;
  std::string text;
  const auto line = [&](const char* name, double value, const char* meaning) {
    text += fmt::format("{:<7}{:<11.4g}{}\n", name, value, meaning);
  };
  line("phi_m", orders.phi, "sqrt(d log(1/delta)) / (m epsilon)");
  line("T", orders.rounds, "phi_m^-2, Theorems 2 and 3");
  line("gamma", orders.gamma, "(1-alpha) rho");
  line("eta", orders.eta, "gamma^4/3 rho^4/3 phi_m, Theorem 2; Theorem 3 has 1/L");
  line("bound", orders.bound,
       "phi_m rho^-4/3 (1-alpha)^-8/3, Theorem 2: squared gradient norm / max(tau^2, L Delta)");
  line("tau", orders.clip, "365 rho^-4/3 (1-alpha)^-8/3 phi_m^1/2, Theorem 3: the least clip");
  return text;
}

// What both kinds of plan begin with.
std::string request_text(const PlanRequest& request) {
  return fmt::format(
      "request     epsilon = {:g}, delta = {:g} for each of n = {} agents with m = {} records; "
      "d = {} parameters\n",
      request.epsilon, request.delta, request.agents, request.records, request.dim);
}

ordered_json request_json(const PlanRequest& request, const PlanSources& sources) {
  return {{"m", request.records},       {"agents", request.agents},  {"dim", request.dim},
          {"epsilon", request.epsilon}, {"delta", request.delta},    {"clip", request.clip},
          {"alpha", request.alpha},     {"network", sources.network}};
}

// What both end with.
template <class AnyPlan>
std::string closing_text(const char* rule, const AnyPlan& plan) {
  auto text = fmt::format("            {}\n", replaced(rule, '\n', "\n            "));
  for (const auto& note : plan.notes) text += "note        " + note + "\n";
  for (const auto& reason : plan.hopeless) text += "HOPELESS    " + reason + "\n";
  return text;
}

template <class AnyPlan>
std::string closed_json(ordered_json json, const char* rule, const AnyPlan& plan) {
  json["rule"] = replaced(rule, '\n', " ");
  json["notes"] = plan.notes;
  json["hopeless"] = plan.hopeless;
  return json_text(json, 2) + "\n";
}

ordered_json cell_json(const PlanCell& cell) {
  return {{"batch", cell.batch},           {"rounds", cell.rounds},
          {"sigma", cell.sigma},           {"noise_to_signal", cell.noise_to_signal},
          {"predicted_floor", cell.floor}, {"bytes_per_agent", or_null(cell.bytes)}};
}

ordered_json conditions_json(const std::vector<SideCondition>& conditions) {
  auto json = ordered_json::array();
  for (const auto& condition : conditions)
    json.push_back({{"theorem", condition.theorem},
                    {"condition", condition.text},
                    {"left", condition.left},
                    {"right", condition.right},
                    {"holds", condition.holds}});
  return json;
}

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
               {"bytes", "sent"}}};
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
  auto json = cell_json(choice.cell);
  json.update({{"gossip", choice.gossip},
               {"kept", choice.kept},
               {"momentum", choice.momentum},
               {"sweeps", choice.sweeps},
               {"disagreement", choice.disagreement},
               {"predicted", choice.predicted()}});
  return json;
}

}  // namespace

std::string plan_text(const PlanRequest& request, const PlanSources& sources, const Plan& plan) {
  const auto& best = plan.recommended;
  auto text =
      request_text(request) +
      fmt::format(
          "mechanism   {} sampling, {} neighbours, record level, clip tau = {:g}\n"
          "network     alpha = {:.4g} ({}), rho = {:.4g} ({})\n"
          "            information crosses it in about 1/((1-alpha)^2 rho) = {:.3g} rounds\n",
          choice_text(request.sampler), choice_text(request.adjacency), request.clip, request.alpha,
          sources.network, request.rho, sources.compressor, plan.gossip_rounds);
  text += "\nsigma on the mean gradient of a batch; certified, at most 1 % above the least\n" +
          grid(plan, [](const PlanCell& cell) { return rounded_up(cell.sigma, 4); });
  text +=
      "\nnoise-to-signal sqrt(d) sigma / (tau sqrt(n)): noise in the average over all agents, "
      "against a clipped gradient\n" +
      grid(plan, [](const PlanCell& cell) { return fmt::format("{:.3g}", cell.noise_to_signal); });
  if (request.bytes_per_vector)
    text += fmt::format(
                "\nsent per agent: two vectors of {:g} bytes a round, counted once whatever the "
                "number of neighbours\n",
                *request.bytes_per_vector) +
            bytes_table(plan);
  text +=
      "\nThe paper's theorems. These are orders: constants and L are dropped\n" + orders_text(plan);
  text += "\nTheir side conditions (left side, right side)\n" + conditions_table(request, plan);
  text += fmt::format(
      "\nrecommended b = {}, T = {}, sigma = {}\n"
      "            noise-to-signal {:.3g}, predicted floor {:.3g} tau^2{}\n",
      best.batch, best.rounds, rounded_up(best.sigma), best.noise_to_signal, best.floor,
      best.bytes ? ", " + human_bytes(*best.bytes) + " sent per agent" : "");
  return text + closing_text(kPlanRule, plan);
}

std::string plan_json(const PlanRequest& request, const PlanSources& sources, const Plan& plan) {
  const auto& orders = plan.orders;
  const auto& best = plan.recommended;
  auto json = request_json(request, sources);
  json.update({{"sampler", choice_text(request.sampler)},
               {"adjacency", choice_text(request.adjacency)},
               {"level", "record"},
               {"rho", request.rho},
               {"compressor", sources.compressor},
               {"gossip_rounds", plan.gossip_rounds}});
  json["cells"] = ordered_json::array();
  for (const auto& cell : plan.cells) json["cells"].push_back(cell_json(cell));
  json["orders"] = {{"phi_m", orders.phi}, {"rounds", orders.rounds}, {"gamma", orders.gamma},
                    {"eta", orders.eta},   {"bound", orders.bound},   {"clip", orders.clip}};
  json["conditions_paper"] = conditions_json(side_conditions(request, 1, orders.rounds));
  json["conditions_recommended"] =
      conditions_json(side_conditions(request, best.batch, static_cast<double>(best.rounds)));
  json["recommended"] = cell_json(best);
  return closed_json(std::move(json), kPlanRule, plan);
}

std::string budget_text(const PlanRequest& request, const PlanSources& sources, AgentData data,
                        double bytes, const BudgetPlan& plan) {
  const auto& best = plan.recommended;
  auto text =
      request_text(request) +
      fmt::format(
          "budget      {} sent per agent, a message to several neighbours counted once\n"
          "network     alpha = {:.4g} ({}); agents {}\n"
          "algorithm   porter-sweep: T gradients of b records, after each s gossip steps with k "
          "coordinates of V and X\n\n",
          human_bytes(bytes), request.alpha, sources.network,
          data == AgentData::alike ? "alike (--unlike: not)" : "unlike");
  text += choices_table(request, plan);
  text += fmt::format(
      "\nrecommended b = {}, T = {}, s = {}, k = {} ({} of d), sigma = {}\n"
      "            epsilon {} certified, noise-to-signal {:.3g}, {} sent per agent\n"
      "            predicted floor {:.3g} tau^2 at the average, {:.3g} tau^2 at the agents\n"
      "            porter run CONFIG.toml {}\n"
      "            momentum is min(0.3, s k / d), at least 5 / T; the step is yours to tune\n",
      best.cell.batch, best.cell.rounds, best.gossip, best.kept, share(request, best),
      rounded_up(best.cell.sigma), rounded_up(plan.epsilon, 4), best.cell.noise_to_signal,
      human_bytes(*best.cell.bytes), best.cell.floor, best.predicted(), settings(plan));
  return text + closing_text(kBudgetRule, plan);
}

std::string budget_json(const PlanRequest& request, const PlanSources& sources, AgentData data,
                        double bytes, const BudgetPlan& plan) {
  auto json = request_json(request, sources);
  json.update({{"bytes", bytes},
               {"agents_are", data == AgentData::alike ? "alike" : "unlike"},
               {"algorithm", "porter-sweep"}});
  json["choices"] = ordered_json::array();
  for (const auto& choice : plan.choices) json["choices"].push_back(choice_json(choice));
  json["recommended"] = choice_json(plan.recommended);
  json["recommended"]["epsilon"] = plan.epsilon;
  return closed_json(std::move(json), kBudgetRule, plan);
}

}  // namespace porter::cli
