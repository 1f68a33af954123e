// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "report/trace.hpp"

namespace porter::cli {

/// The table over the runs, then what must be known to read it, on standard output.
void print_comparison(const std::vector<Trace>& traces, bool markdown);

}  // namespace porter::cli
