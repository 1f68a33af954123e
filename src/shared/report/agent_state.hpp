// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "report/table.hpp"

namespace porter {

/// What status.json in an agent's folder says while the agent trains.
struct AgentState {
  std::filesystem::path folder = {};
  std::string name, state;
  double round = 0, rounds = 0;
  double bytes_out = 0, bytes_in = 0, wait_seconds = 0;
  std::optional<double> epsilon = {};
  std::string waiting_for = {};  ///< neighbours, listed; mostly empty

  /// "training, round 12 of 100".
  std::string text() const;
};

/// Nothing where there is no such file or it is not one of ours: it is for whoever looks.
std::optional<AgentState> load_agent_state(const std::filesystem::path& folder);

Table agents_table(std::span<const AgentState> agents);

}  // namespace porter
