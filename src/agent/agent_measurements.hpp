// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/agent/agent.hpp"

namespace porter {

/// Measures with the neighbours what the schema leaves open, a stage for each statistic. The
/// complete schema, which is in the folder then; nothing where a stop was requested.
std::shared_ptr<const Schema> measure_with_neighbours(const AgentOptions& options,
                                                      const std::filesystem::path& folder,
                                                      const AgentHooks& hooks,
                                                      const std::optional<Graph>& graph);

}  // namespace porter
