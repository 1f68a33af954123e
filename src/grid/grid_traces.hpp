// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/trace.hpp"

namespace porter {

/// What the journal of a sweep or of a study (porter reproduce) holds, as runs.
struct GridTraces {
  std::string what;  ///< "a study"
  std::vector<Trace> traces = {};
  std::vector<std::string> left_out = {};  ///< runs of the journal that are not among them, and why
};

/// Whether the folder has such a journal.
bool is_grid_folder(const std::filesystem::path& folder);

/// By setting, then by seed. Settings come from sweep.toml, or from the configs/ that a finished
/// study has written; also while another process adds runs. Error if they or the journal cannot be
/// read.
GridTraces load_grid_traces(const std::filesystem::path& folder);

}  // namespace porter
