// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/difference.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "porter/version.hpp"
#include "report/page.hpp"
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

std::string answer_section(const StudyReport& report) {
  std::string body;
  for (const auto& warning : report.warnings)
    body += fmt::format(
        "<div class=\"privacy doubtful\"><strong>Read this first</strong><p>{}</p></div>\n",
        escape_html(warning));
  if (!report.headline.empty())
    body +=
        fmt::format("<div class=\"privacy guaranteed\"><strong>In a line</strong><p>{}</p></div>\n",
                    escape_html(report.headline));
  return body;
}

std::string tables_section(const StudyReport& report) {
  std::string body;
  for (const auto& table : report.tables) {
    body += fmt::format("<h3 class=\"part\">{}</h3>\n<div class=\"scroll\">\n{}</div>\n",
                        escape_html(table.title), table.table.to_html());
    body += "<ul class=\"notes\">\n";
    for (const auto& note : table.notes) body += fmt::format("<li>{}</li>\n", escape_html(note));
    body +=
        fmt::format("<li><a href=\"tables/{0}.csv\">tables/{0}.csv</a></li>\n</ul>\n", table.file);
  }
  return body.empty() ? "" : page_section("tables", "Tables", body);
}

std::string plots_section(const StudyReport& report) {
  std::string body, files;
  const auto add_files = [&](const std::string& file) {
    files += fmt::format(
        "{0}<a href=\"figures/{1}.svg\">{1}.svg</a> <a href=\"figures/{1}.csv\">.csv</a>",
        files.empty() ? "" : " · ", file);
  };
  for (const auto& [file, chart] : report.charts) {
    body += bar_chart_html(chart);
    add_files(file);
  }
  for (const auto& [file, plot] : report.figures) {
    body += figure_html(plot, "plot-" + file);
    add_files(file);
  }
  if (body.empty()) return "";
  return page_section("plots", "Plots",
                      fmt::format("<div class=\"plots\">\n{}</div>\n<p class=\"note\">As files, "
                                  "with their points: {}</p>\n",
                                  body, files));
}

std::string config_text(const ReportConfig& config) {
  auto text = fmt::format("<p class=\"note\">{}</p>\n", escape_html(config.note));
  if (config.toml.empty()) return text;
  return text + fmt::format(
                    "<pre><code>porter run configs/{}.toml --set run.seed=1</code></pre>\n"
                    "<pre><code>{}</code></pre>\n",
                    config.file, escape_html(config.toml));
}

std::string configs_section(const StudyReport& report) {
  std::string body;
  for (const auto& config : report.configs)
    body += fmt::format("<details><summary>{}</summary>\n{}</details>\n", escape_html(config.label),
                        config_text(config));
  if (body.empty()) return "";
  return page_section("configs", "Settings",
                      "<p class=\"note\">Resolved, with the data, the privacy and the command of "
                      "one run; it is to be called in the folder of this page.</p>\n<article>\n" +
                          body + "</article>\n");
}

std::string command_section(const StudyReport& report) {
  std::string body = fmt::format("<pre><code>{}</code></pre>\n", escape_html(report.command));
  if (!report.runs.empty())
    body += "<p class=\"note\">Every run: <a href=\"runs.csv\">runs.csv</a></p>\n";
  if (!report.source.empty())
    body += fmt::format(
        "<details><summary>the experiment file</summary>\n<pre><code>{}</code></pre></details>\n",
        escape_html(report.source));
  return page_section("command", "Repeat it", body);
}

}  // namespace

std::string report_page(const StudyReport& report) {
  return page_shell(report.title, report.about, report.meta,
                    answer_section(report) + plots_section(report) + tables_section(report) +
                        configs_section(report) + command_section(report));
}

void write_report(const StudyReport& report, const fs::path& folder) {
  for (const char* part : {"figures", "tables", "configs"}) fresh_folder(folder / part);
  const auto write_figure = [&](const std::string& file, const auto& figure) {
    write_file(folder / "figures" / (file + ".svg"), svg_file(figure));
    write_file(folder / "figures" / (file + ".csv"), points_csv(figure));
  };
  for (const auto& [file, plot] : report.figures) write_figure(file, plot);
  for (const auto& [file, chart] : report.charts) write_figure(file, chart);
  for (const auto& table : report.tables)
    write_file(folder / "tables" / (table.file + ".csv"), table.table.to_csv());
  for (const auto& config : report.configs)
    if (!config.toml.empty())  // porter report takes the name from the first line
      write_file(folder / "configs" / (config.file + ".toml"),
                 "# " + without_controls(config.label) + "\n" + config.toml);
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
                    fmt::format("{} report{} · porter {}", reports.size(),
                                reports.size() == 1 ? "" : "s", kVersion),
                    page_section("reports", "Reports", body));
}

}  // namespace porter
