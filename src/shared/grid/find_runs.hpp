// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "report/agent_state.hpp"
#include "report/trace.hpp"

namespace porter {

/// What people have: the runs in and below some folders.
struct FoundRuns {
  std::vector<Trace> traces = {};
  std::vector<AgentState> under_way = {};  ///< agents that have no results yet
  std::vector<std::string> found = {};     ///< what was read from where, a sentence each
  std::vector<std::string> skipped = {};   ///< what else was not, and why
};

/// Takes run folders (an agent's and a cluster's too), those of sweeps and studies (all runs in
/// their journals), and folders that hold any of these at any depth, by name. Below a cluster's
/// results its agents are not looked at. What lies below and cannot be read is skipped with the
/// reason; links are not followed. Runs of one name are told apart by their places.
/// Error{io} if a folder is missing, cannot be read, or has nothing to show; with `may_be_empty`
/// the last is no error.
FoundRuns find_runs(std::span<const std::filesystem::path> folders, bool may_be_empty = false);

/// What was skipped, agents under way included.
std::vector<std::string> skipped_runs(const FoundRuns& runs);

/// What was read and what was skipped, for people. Where agents under way are shown they need no
/// line.
std::vector<std::string> source_lines(const FoundRuns& runs, bool with_agents = true);

}  // namespace porter
