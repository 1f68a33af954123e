// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "grid/sweep.hpp"
#include "report/heat_map.hpp"
#include "report/plot.hpp"

namespace porter {

/// The metric by each pair of the keys that matter most (three of them), the best over the others
/// in each cell. None for a random search over ranges, whose values do not repeat.
std::vector<HeatMap> sweep_heat_maps(const Sweep& sweep, const SweepResult& result);

/// The metric by each key whose values are numbers.
std::vector<Plot> sweep_key_plots(const Sweep& sweep, const SweepResult& result);

}  // namespace porter
