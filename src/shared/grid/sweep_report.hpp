// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "grid/sweep.hpp"
#include "report/heat_map.hpp"
#include "report/plot.hpp"
#include "report/table.hpp"

namespace porter {

/// One row per setting, the best first: the values, the metric with its spread over seeds, the
/// figures beside it (means over seeds) and, where it did not finish, why.
Table sweep_table(const Sweep& sweep, const SweepResult& result);

/// Keys without their section where that leaves them different.
std::vector<std::string> short_keys(const std::vector<std::string>& keys);

/// The metric by each pair of the keys that matter most (three of them), the best over the others
/// in each cell. None for a random search over ranges, whose values do not repeat.
std::vector<HeatMap> sweep_heat_maps(const Sweep& sweep, const SweepResult& result);

/// The metric by each key whose values are numbers.
std::vector<Plot> sweep_key_plots(const Sweep& sweep, const SweepResult& result);

/// One self-contained HTML page: the best setting, what epsilon does not cover, the table, a heat
/// map for each pair of keys, the metric by each key, the command and the plan. `folder` is where
/// best.toml stands.
std::string sweep_page(const Sweep& sweep, const SweepResult& result, const std::string& command,
                       const std::string& folder);

}  // namespace porter
