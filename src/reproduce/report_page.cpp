// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/page_shell.hpp"
#include "report/text.hpp"
#include "reproduce/report.hpp"

namespace porter {
namespace {

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

}  // namespace porter
