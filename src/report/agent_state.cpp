// SPDX-License-Identifier: Apache-2.0
#include "report/agent_state.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxStatusBytes = std::size_t{1} << 20;

std::string format_whole(double value) { return fmt::format("{:.0f}", value); }
std::string format_bytes(double bytes) { return format_si(bytes) + "B"; }
std::string format_epsilon(double epsilon) { return rounded_up(epsilon, 4); }

}  // namespace

std::string AgentState::text() const {
  return fmt::format("{}, round {:.0f} of {:.0f}", state, round, rounds);
}

std::optional<AgentState> load_agent_state(const std::filesystem::path& folder) try {
  const auto file = folder / "status.json";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return std::nullopt;  // a pipe has no end
  const auto json = nlohmann::json::parse(read_file(file, kMaxStatusBytes), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? without_controls(found->get<std::string>())
                                                     : std::string();
  };
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? found->get<double>() : 0;
  };
  AgentState state{.folder = folder,
                   .name = text("name"),
                   .state = text("state"),
                   .round = number("round"),
                   .rounds = number("rounds"),
                   .bytes_out = number("bytes_out"),
                   .bytes_in = number("bytes_in"),
                   .wait_seconds = number("wait_seconds")};
  if (json.contains("epsilon") && json["epsilon"].is_number()) state.epsilon = json["epsilon"];
  std::vector<std::string> waiting;
  if (const auto found = json.find("waiting_for"); found != json.end() && found->is_array())
    for (const auto& name : *found)
      if (name.is_string()) waiting.push_back(without_controls(name.get<std::string>()));
  state.waiting_for = listing(waiting);
  return state.name.empty() || state.state.empty() ? std::nullopt : std::optional(state);
} catch (const Error&) {
  return std::nullopt;
}

Table agents_table(std::span<const AgentState> agents) {
  Table table{text_columns({"agent", "state"})};
  for (const char* key : {"round", "rounds", "sent", "received"})
    table.columns.push_back({key, key});
  table.columns.push_back({"epsilon", "epsilon ≤"});
  table.columns.push_back({"waited", "waited"});
  table.columns.push_back(text_column("waiting_for", "waits for"));
  for (const auto& agent : agents)
    table.rows.push_back({{.text = agent.name},
                          {.text = agent.state},
                          number_cell(agent.round, format_whole),
                          number_cell(agent.rounds, format_whole),
                          number_cell(agent.bytes_out, format_bytes),
                          number_cell(agent.bytes_in, format_bytes),
                          number_cell(agent.epsilon, format_epsilon),
                          number_cell(agent.wait_seconds, format_seconds),
                          {.text = agent.waiting_for.empty() ? kAbsent : agent.waiting_for}});
  return table;
}

}  // namespace porter
