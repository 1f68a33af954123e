// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/agent_state.hpp"
#include "report/bar_chart.hpp"
#include "report/plot.hpp"
#include "report/run_group.hpp"

namespace porter {

/// What a page says besides its runs.
struct PageText {
  std::string title;
  std::string intro = {};                 ///< a paragraph of plain text, may be empty
  std::vector<std::string> sources = {};  ///< where the runs come from, and what was left out
  bool live = false;                      ///< it asks its server for news, from time to time
};

/// One self-contained HTML page over the runs: no other file, no network. Everything that comes
/// from the run folders is escaped, so a folder from a stranger can do no harm. The same runs give
/// the same bytes.
std::string html_report(const PageText& text, std::span<const RunGroup> groups,
                        std::span<const AgentState> agents = {});

struct PagePlots {
  std::vector<std::vector<TabFigure>> figures;  ///< a quantity each, against rounds, bytes and time
  std::vector<BarChart> charts;    ///< instead, where no run has more than its last evaluation
  std::vector<std::string> notes;  ///< what is not drawn and why, a sentence each
};

/// The plots of a report. A group keeps its colour and dashes through all of them.
PagePlots page_plots(std::span<const RunGroup> groups);

/// A whole page around the sections: style, title, an introduction (plain text, may be empty), a
/// line about the page (plain text), script. It loads nothing and needs nothing; one that is live
/// asks the address it came from for its next version.
std::string page_shell(const std::string& title, const std::string& intro, const std::string& meta,
                       const std::string& sections, bool live = false);

std::string page_section(const char* id, const char* title, const std::string& body);

/// A word of a POSIX shell.
std::string shell_word(const std::string& text);

}  // namespace porter
