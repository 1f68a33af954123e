// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/difference.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "porter/version.hpp"
#include "report/page_shell.hpp"
#include "report/text.hpp"
#include "reproduce/report.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kSummaryFile = "summary.json";

void fresh_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  make_folder(folder);
}

std::string summary_json(const StudyReport& report) {
  Json tables = Json::object();
  for (const auto& table : report.tables) tables[table.file] = Json::parse(table.table.to_json());
  return json_text({{"name", report.name},
                    {"title", report.title},
                    {"porter", kVersion},
                    {"command", report.command},
                    {"headline", report.headline},
                    {"warnings", report.warnings},
                    {"tables", tables}},
                   2) +
         '\n';
}

}  // namespace

void write_report(const StudyReport& report, const fs::path& folder) {
  for (const char* part : {"figures", "tables", "configs"}) fresh_folder(folder / part);
  for (const auto& figure : report.figures) {
    write_file(folder / "figures" / (figure.file + ".svg"), svg_file(figure.plot));
    write_file(folder / "figures" / (figure.file + ".csv"), points_csv(figure.plot));
  }
  for (const auto& [file, chart] : report.charts) {
    write_file(folder / "figures" / (file + ".svg"), svg_file(chart));
    write_file(folder / "figures" / (file + ".csv"), points_csv(chart));
  }
  for (const auto& table : report.tables)
    write_file(folder / "tables" / (table.file + ".csv"), table.table.to_csv());
  for (const auto& config : report.configs)
    if (!config.toml.empty()) write_file(folder / "configs" / (config.file + ".toml"), config.toml);
  if (!report.runs.empty()) write_file(folder / "runs.csv", report.runs);
  write_file(folder / kSummaryFile, summary_json(report));
  write_file(folder / "index.html", report_page(report));
}

std::string index_page(const fs::path& folder) {
  std::vector<fs::path> reports;
  for (const auto& entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / kSummaryFile) && fs::exists(entry.path() / "index.html"))
      reports.push_back(entry.path());
  std::sort(reports.begin(), reports.end());
  std::string body;
  for (const auto& path : reports) {
    const auto json = Json::parse(read_file(path / kSummaryFile), nullptr, false);
    if (!json.is_object()) continue;
    const auto text = [&](const char* key) {
      const auto found = json.find(key);
      return found != json.end() && found->is_string() ? escape_html(found->get<std::string>())
                                                       : std::string();
    };
    const auto warnings = json.contains("warnings") ? json["warnings"].size() : 0;
    body += fmt::format(
        "<article>\n<h3><a href=\"{0}/index.html\">{1}</a> <span class=\"status {2}\">{0}</span>"
        "</h3>\n<p>{3}</p>\n</article>\n",
        escape_html(path.filename().string()), text("title"), warnings > 0 ? "bad" : "good",
        text("headline"));
  }
  return page_shell("porter reproduce",
                    "The paper's figures, tables and theorems, and experiments beyond them.",
                    fmt::format("{} reports · porter {}", reports.size(), kVersion),
                    page_section("reports", "Reports", body));
}

}  // namespace porter
