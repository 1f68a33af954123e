// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/bar_chart.hpp"
#include "report/plot.hpp"
#include "report/table.hpp"
#include "reproduce/study.hpp"

namespace porter {

/// Files are named without their endings.
struct ReportFigure {
  std::string file;
  Plot plot;
};
struct ReportChart {
  std::string file;
  BarChart chart;
};
struct ReportTable {
  std::string file, title;
  Table table;
  std::vector<std::string> notes = {};  ///< a sentence each
};
struct ReportConfig {
  std::string file, label, toml;
  std::string note = {};
};

/// What one name of `porter reproduce` has to show.
struct StudyReport {
  std::string name, title, about;
  std::string command;                     ///< makes it again
  std::string meta = {};                   ///< a line about the page
  std::string headline = {};               ///< the answer in a line
  std::vector<std::string> warnings = {};  ///< what a reader must see before any figure
  std::vector<ReportTable> tables = {};
  std::vector<ReportFigure> figures = {};
  std::vector<ReportChart> charts = {};
  std::vector<ReportConfig> configs = {};
  std::string runs = {};    ///< every run as a line of CSV; empty: there are none
  std::string source = {};  ///< the experiment file; empty: there is none
};

/// Tables, plots, warnings and configs of a study that has run.
StudyReport study_report(const Study& study, const GridResult& result, const std::string& command);

/// One self-contained page.
std::string report_page(const StudyReport& report);

/// index.html; figures/*.svg, each with the .csv of its points; tables/*.csv; configs/*.toml, which
/// porter run takes; runs.csv; summary.json. What an earlier report left in these folders is
/// removed.
void write_report(const StudyReport& report, const std::filesystem::path& folder);

/// The page that links every report below the folder.
std::string index_page(const std::filesystem::path& folder);

}  // namespace porter
