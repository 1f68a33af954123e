// SPDX-License-Identifier: Apache-2.0
// The rows that an agent trains on, and the run as its folder records it.
#pragma once

#include "file_journal.hpp"
#include "porter/agent/agent.hpp"

namespace porter {

/// The config of the run with the agent's own data in it.
Config recorded_config(const AgentOptions& options);

/// Error{privacy} or {usage} where the config asks for what cannot be done with an agent's own
/// file.
void check_own_data(const AgentOptions& options);

/// An agent has its own rows and nobody else's.
RunData own_data(const AgentOptions& options);

/// Steps that are "auto" as numbers, which the folder holds and the neighbours compare.
AgentOptions with_steps(AgentOptions options, Sources sources);

FileOwner owner_of(const AgentOptions& options);

}  // namespace porter
