// SPDX-License-Identifier: Apache-2.0
#include "privacy_plan_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/json.hpp"
#include "privacy_options.hpp"
#include "report/table.hpp"

namespace porter::cli {
namespace {

using nlohmann::ordered_json;

constexpr auto kRule =
    "a heuristic: the least predicted floor of the squared gradient norm,\n"
    "2/T + 2 sqrt(2 (N^2 + (1 - b/m)/(n b)) / T) in units of tau^2 with N the noise-to-signal,\n"
    "for T of at least 1/((1-alpha)^2 rho); of all within 25 % of the least the fewest rounds,\n"
    "then the smallest batch";

// One row per batch size, one column per number of rounds; the recommended cell is marked.
template <class Text>
std::string grid(const Plan& plan, const Text& text) {
  Table table{{{"batch", "b"}}, {}};
  for (const auto rounds : plan.rounds)
    table.columns.push_back({fmt::format("T{}", rounds), fmt::format("T = {}", rounds)});
  for (std::size_t i = 0; i < plan.batches.size(); ++i) {
    auto& row = table.rows.emplace_back();
    row.push_back({.text = std::to_string(plan.batches[i])});
    for (std::size_t j = 0; j < plan.rounds.size(); ++j) {
      const auto& cell = plan.cell(i, j);
      const auto& best = plan.recommended;
      row.push_back(
          {.text = text(cell), .best = cell.batch == best.batch && cell.rounds == best.rounds});
    }
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
  Table table{{{"theorem", "theorem", Better::neither, true},
               {"condition", "condition", Better::neither, true},
               {"paper", "b = 1, T = phi_m^-2", Better::neither, true},
               {"recommended", fmt::format("b = {}, T = {}", best.batch, best.rounds),
                Better::neither, true}},
              {}};
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

std::string head(const PlanRequest& request, const PlanSources& sources, const Plan& plan) {
  return fmt::format(
      "request     epsilon = {:g}, delta = {:g} for each of n = {} agents with m = {} records; "
      "d = {} parameters\n"
      "mechanism   {} sampling, {} neighbours, record level, clip tau = {:g}\n"
      "network     alpha = {:.4g} ({}), rho = {:.4g} ({})\n"
      "            information crosses it in about 1/((1-alpha)^2 rho) = {:.3g} rounds\n",
      request.epsilon, request.delta, request.agents, request.records, request.dim,
      choice_text(request.sampler), choice_text(request.adjacency), request.clip, request.alpha,
      sources.network, request.rho, sources.compressor, plan.gossip_rounds);
}

std::string recommendation(const Plan& plan) {
  const auto& best = plan.recommended;
  auto text = fmt::format(
      "\nrecommended b = {}, T = {}, sigma = {}\n"
      "            noise-to-signal {:.3g}, predicted floor {:.3g} tau^2{}\n"
      "            {}\n",
      best.batch, best.rounds, rounded_up(best.sigma, 6), best.noise_to_signal, best.floor,
      best.bytes ? ", " + human_bytes(*best.bytes) + " sent per agent" : "",
      with_line_ends(kRule, "\n            "));
  for (const auto& note : plan.notes) text += "note        " + note + "\n";
  for (const auto& reason : plan.hopeless) text += "HOPELESS    " + reason + "\n";
  return text;
}

ordered_json cell_json(const PlanCell& cell) {
  return {{"batch", cell.batch},
          {"rounds", cell.rounds},
          {"sigma", cell.sigma},
          {"noise_to_signal", cell.noise_to_signal},
          {"predicted_floor", cell.floor},
          {"bytes_per_agent", cell.bytes ? ordered_json(*cell.bytes) : nullptr}};
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

}  // namespace

std::string with_line_ends(std::string_view text, std::string_view replacement) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string(replacement) : std::string(1, c);
  return out;
}

std::string human_bytes(double bytes) {
  constexpr std::array units = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < units.size()) bytes /= 1000, ++unit;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

std::string plan_text(const PlanRequest& request, const PlanSources& sources, const Plan& plan) {
  auto text = head(request, sources, plan);
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
  return text + recommendation(plan);
}

std::string plan_json(const PlanRequest& request, const PlanSources& sources, const Plan& plan) {
  const auto& orders = plan.orders;
  const auto& best = plan.recommended;
  ordered_json json = {{"m", request.records},
                       {"agents", request.agents},
                       {"dim", request.dim},
                       {"epsilon", request.epsilon},
                       {"delta", request.delta},
                       {"clip", request.clip},
                       {"sampler", choice_text(request.sampler)},
                       {"adjacency", choice_text(request.adjacency)},
                       {"level", "record"},
                       {"alpha", request.alpha},
                       {"network", sources.network},
                       {"rho", request.rho},
                       {"compressor", sources.compressor},
                       {"gossip_rounds", plan.gossip_rounds}};
  json["cells"] = ordered_json::array();
  for (const auto& cell : plan.cells) json["cells"].push_back(cell_json(cell));
  json["orders"] = {{"phi_m", orders.phi}, {"rounds", orders.rounds}, {"gamma", orders.gamma},
                    {"eta", orders.eta},   {"bound", orders.bound},   {"clip", orders.clip}};
  json["conditions_paper"] = conditions_json(side_conditions(request, 1, orders.rounds));
  json["conditions_recommended"] =
      conditions_json(side_conditions(request, best.batch, static_cast<double>(best.rounds)));
  json["recommended"] = cell_json(best);
  json["rule"] = with_line_ends(kRule, " ");
  json["notes"] = plan.notes;
  json["hopeless"] = plan.hopeless;
  return json_text(json, 2) + "\n";
}

}  // namespace porter::cli
