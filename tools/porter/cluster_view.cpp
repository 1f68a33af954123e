// SPDX-License-Identifier: Apache-2.0
#include "cluster_view.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace porter::cli {
namespace {

// What the agent last wrote about itself; empty before it has.
nlohmann::json status_of(const LocalAgent& agent) {
  std::ifstream file(agent.folder / "status.json");
  auto json = nlohmann::json::parse(file, nullptr, false);
  return json.is_object() ? json : nlohmann::json::object();
}

std::string human_bytes(double bytes) {
  const char* unit = "B";
  for (const char* next : {"KB", "MB", "GB", "TB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = next;
  }
  return fmt::format("{:.3g} {}", bytes, unit);
}

std::string state_of(const LocalAgent& agent, const nlohmann::json& status) {
  if (!agent.running()) return agent.done() ? "finished" : fmt::format("exit {}", agent.exit_code);
  return status.value("state", "starting");
}

}  // namespace

ClusterView::ClusterView() : terminal_(::isatty(STDERR_FILENO) != 0) {}

void ClusterView::show(const std::vector<LocalAgent>& agents, bool last) {
  const auto now = std::chrono::steady_clock::now();
  const auto period = std::chrono::milliseconds(terminal_ ? 200 : 2000);
  if (!last && now - shown_ < period) return;
  shown_ = now;
  if (terminal_)
    draw_table(agents);
  else
    print_line(agents);
}

void ClusterView::draw_table(const std::vector<LocalAgent>& agents) {
  if (drawn_) fmt::print(stderr, "\x1b[{}A", agents.size() + 1);
  drawn_ = true;
  fmt::print(stderr, "\x1b[2K{:<12} {:>12}  {:<10} {:>9} {:>9} {:>9}  {:>8}\n", "agent", "round",
             "state", "sent", "received", "epsilon", "restarts");
  for (const auto& agent : agents) {
    const auto status = status_of(agent);
    const auto epsilon = status.contains("epsilon") && status["epsilon"].is_number()
                             ? fmt::format("{:.4g}", status["epsilon"].get<double>())
                             : "-";
    fmt::print(stderr, "\x1b[2K{:<12} {:>12}  {:<10} {:>9} {:>9} {:>9}  {:>8}\n", agent.name,
               fmt::format("{}/{}", status.value("round", 0), status.value("rounds", 0)),
               state_of(agent, status), human_bytes(status.value("bytes_out", 0.0)),
               human_bytes(status.value("bytes_in", 0.0)), epsilon, agent.restarts);
  }
}

void ClusterView::print_line(const std::vector<LocalAgent>& agents) {
  std::uint32_t least = ~0U, most = 0, rounds = 0;
  std::size_t training = 0, finished = 0;
  unsigned restarts = 0;
  for (const auto& agent : agents) {
    const auto status = status_of(agent);
    const auto round = status.value("round", 0U);
    least = std::min(least, round);
    most = std::max(most, round);
    rounds = std::max(rounds, status.value("rounds", 0U));
    const auto state = state_of(agent, status);
    training += state == "training";
    finished += state == "finished";
    restarts += agent.restarts;
  }
  fmt::print(stderr, "{} agents: {} training, {} finished; rounds {} to {} of {}; {} restarts\n",
             agents.size(), training, finished, least, most, rounds, restarts);
}

}  // namespace porter::cli
