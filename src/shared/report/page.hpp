// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/plot.hpp"
#include "report/trace.hpp"

namespace porter {

/// One self-contained HTML page over the runs: no other file, no network. Everything that comes
/// from the run folders is escaped, so a folder from a stranger can do no harm. `intro` is a
/// paragraph of plain text and may be empty. The same runs give the same bytes.
std::string html_report(const std::string& title, const std::string& intro,
                        std::span<const Trace> traces);

struct PagePlots {
  std::vector<Plot> plots;
  std::vector<std::string> left_out;  ///< titles of plots for which no run has figures
};

/// The plots of a report. A run keeps its colour and dashes through all of them.
PagePlots page_plots(std::span<const Trace> traces);

/// A whole page around the sections: style, title, an introduction (plain text, may be empty), a
/// line about the page (plain text), script. It loads nothing and needs nothing.
std::string page_shell(const std::string& title, const std::string& intro, const std::string& meta,
                       const std::string& sections);

std::string page_section(const char* id, const char* title, const std::string& body);

/// A word of a POSIX shell.
std::string shell_word(const std::string& text);

}  // namespace porter
