// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/plot.hpp"
#include "report/trace.hpp"

namespace porter {

struct PagePlots {
  std::vector<Plot> plots;
  std::vector<std::string> left_out;  ///< titles of plots for which no run has figures
};

/// The plots of a report. A run keeps its colour and dashes through all of them.
PagePlots page_plots(std::span<const Trace> traces);

}  // namespace porter
