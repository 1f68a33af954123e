// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "grid/grid.hpp"
#include "porter/train/metrics.hpp"

namespace porter {

/// The column of metrics.csv, or Error{usage} listing them.
const MetricsColumn& find_column(const std::string& name);

/// A figure of a whole run, by name:
///   rounds         T
///   rho            of the compressor
///   gap            1 - alpha of the graph that was drawn
///   phi            sqrt(d log(1/delta)) / (m epsilon), with the config's epsilon and delta
///   min_grad_norm  the least |grad f(x)| of the evaluated rounds
///   section.key    a number of the config, or the number behind the colon of "name:0.05"
///   a column       of the last row of metrics.csv
/// Nothing where the run has no such figure.
std::optional<double> run_figure(const std::string& name, const Config& config, const GridRun& run);

/// Error{usage} if no run can have such a figure. A key is only known where it is `vary`.
void check_figure(const std::string& name, const std::string& vary);

/// As a head of a table says it, as an axis does, and with a capital letter.
std::string figure_title(const std::string& name);
std::string axis_title(const std::string& name);
std::string plot_title(const std::string& text);

/// The number that a config value such as 0.5 or "random_k:0.05" holds.
std::optional<double> value_number(const std::string& value);

}  // namespace porter
