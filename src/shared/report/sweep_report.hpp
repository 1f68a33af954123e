// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "grid/sweep.hpp"
#include "report/table.hpp"

namespace porter {

/// One row per setting, the best first: the values, the metric with its spread over seeds, the
/// figures beside it (means over seeds) and, where it did not finish, why.
Table sweep_table(const Sweep& sweep, const SweepResult& result);

/// Keys without their section where that leaves them different.
std::vector<std::string> short_keys(const std::vector<std::string>& keys);

/// One self-contained HTML page: the best setting, what epsilon does not cover, the table, a heat
/// map for each pair of keys, the metric by each key, the command and the plan. `folder` is where
/// best.toml stands.
std::string sweep_page(const Sweep& sweep, const SweepResult& result, const std::string& command,
                       const std::string& folder);

}  // namespace porter
