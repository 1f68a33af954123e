// SPDX-License-Identifier: Apache-2.0
// One agent's part of what agents do together: a training, or a statistic that is measured before.
#pragma once

#include "agent_folder.hpp"
#include "porter/agent/agent.hpp"

namespace porter {

/// Where the schema leaves something to be measured, what agents do together has stages: one per
/// statistic, then the training.
struct Stage {
  std::string family = {};  ///< names them all; empty: there is nothing but the training
  std::uint32_t number = 0;
  bool measures = false;
  /// What neighbours must agree on beside what this stage is made of.
  std::map<std::string, std::string> facts = {};
};

/// From its newest checkpoint, if there is one, to the end or to a requested stop. The folder is
/// locked by the caller.
TrainStatus run_stage(const AgentOptions& options, AgentFolder& folder, const AgentHooks& hooks,
                      Sources sources, Stage stage);

}  // namespace porter
