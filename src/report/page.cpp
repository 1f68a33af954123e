// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "porter/version.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace porter {
namespace {

// Of summary.json, and what people call them.
constexpr std::pair<const char*, const char*> kFacts[] = {
    {"algorithm", "algorithm"},
    {"data", "data"},
    {"model", "model"},
    {"agents", "agents n"},
    {"m", "samples per agent m"},
    {"d", "parameters d"},
    {"graph", "graph"},
    {"mixing", "mixing weights"},
    {"alpha", "mixing rate α"},
    {"compressor", "compressor"},
    {"k", "entries kept k"},
    {"rho", "contraction ρ"},
    {"rounds", "rounds asked T"},
    {"rounds_done", "rounds done"},
    {"batch", "batch b"},
    {"step", "step size η"},
    {"consensus", "consensus step γ"},
    {"clip", "clipping"},
    {"clip_target", "clipped per"},
    {"sigma", "noise stddev σ"},
    {"seconds_per_round", "seconds per round"},
    {"seconds_evaluating", "seconds evaluating"},
    {"bytes_sent_per_agent", "bytes sent per agent"},
    {"threads", "threads"},
    {"seed", "seed"}};

// As a data: image a picture from a file can run no script and load nothing.
std::string data_url(const std::string& svg) {
  std::string out = "data:image/svg+xml,";
  for (const char c : svg) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

std::string summary_section(std::span<const Trace> traces) {
  std::string notes =
      "<li>Figures of the last evaluation, at the average model unless said otherwise. "
      "<b class=\"best\">Marked</b>: best of the runs that did not diverge.</li>\n";
  for (const auto& note : compare_notes(traces))
    notes += fmt::format("<li>{}</li>\n", escape_html(note));
  return page_section("summary", "Summary",
                      "<div class=\"scroll\">\n" + compare_runs(traces).to_html() +
                          "</div>\n<ul class=\"notes\">\n" + notes + "</ul>\n");
}

std::string privacy_section(std::span<const Trace> traces) {
  std::string body;
  for (const auto& group : privacy_groups(traces))
    body += fmt::format(
        "<div class=\"privacy {}\"><strong>{}</strong><span "
        "class=\"runs\">{}</span><p>{}</p></div>\n",
        group.guaranteed ? "guaranteed" : "doubtful",
        group.guaranteed ? "Guarantee" : "No guarantee", escape_html(listing(group.runs)),
        escape_html(group.text));
  return page_section("privacy", "Privacy", body);
}

std::string plots_section(std::span<const Trace> traces) {
  const auto page = page_plots(traces);
  std::string body = "<div class=\"plots\">\n";
  for (std::size_t i = 0; i < page.plots.size(); ++i)
    body += figure_html(page.plots[i], fmt::format("plot{}", i + 1));
  body += "</div>\n";
  if (!page.left_out.empty())
    body += fmt::format("<p class=\"note\">Left out, as no run has the figures: {}.</p>\n",
                        listing(page.left_out));
  return page_section("plots", "Plots", body);
}

// Each picture once, with the runs that it belongs to.
std::string graph_section(std::span<const Trace> traces) {
  std::vector<std::pair<const Trace*, std::vector<std::string>>> graphs;
  for (const auto& trace : traces) {
    if (trace.graph_svg.empty()) continue;
    auto found = std::find_if(graphs.begin(), graphs.end(), [&](const auto& graph) {
      return graph.first->graph_svg == trace.graph_svg;
    });
    if (found == graphs.end()) found = graphs.insert(found, {&trace, {}});
    found->second.push_back(trace.name);
  }
  if (graphs.empty()) return "";
  std::string body = "<div class=\"graphs\">\n";
  for (const auto& [trace, names] : graphs)
    body += fmt::format(
        "<figure class=\"graph\"><img src=\"{}\" alt=\"communication graph\"/>"
        "<figcaption>{}</figcaption></figure>\n",
        data_url(trace->graph_svg), escape_html(listing(names)));
  return page_section("graph", "Communication graph", body + "</div>\n");
}

std::string facts_list(const Trace& trace) {
  std::string out = "<dl>\n";
  const auto add = [&](const char* label, const std::string& text) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", label, escape_html(text));
  };
  for (const auto& [key, label] : kFacts) {
    const auto found = trace.facts.find(key);
    const auto value = trace.number(key);
    const bool whole = found != trace.facts.end() &&
                       found->second.find_first_not_of("0123456789") == std::string::npos;
    add(label, found == trace.facts.end() ? kAbsent
               : value && !whole          ? format_si(*value)
                                          : found->second);
  }
  const auto& bounds = trace.privacy.epsilon;
  add("epsilon, bounds",
      bounds ? rounded_down(bounds->lower, 4) + " to " + rounded_up(bounds->upper, 4) : kAbsent);
  return out + "</dl>\n";
}

std::string runs_section(std::span<const Trace> traces) {
  std::string body;
  for (const auto& trace : traces) {
    const auto config = (trace.folder / "config.toml").string();
    body += fmt::format("<article>\n<h3>{} <span class=\"status {}\">{}</span></h3>\n{}",
                        escape_html(trace.name), trace.status == "finished" ? "good" : "bad",
                        escape_html(trace.status), facts_list(trace));
    if (!trace.config.empty())
      body += fmt::format(
          "<p>Repeat this run:</p>\n<pre><code>porter run {} --out {}</code></pre>\n"
          "<details><summary>config.toml, resolved</summary>\n<pre><code>{}</code></pre>"
          "</details>\n",
          escape_html(shell_word(config)),
          escape_html(shell_word(trace.folder.string() + "-again")), escape_html(trace.config));
    body += "</article>\n";
  }
  return page_section("runs", "Runs", body);
}

}  // namespace

std::string html_report(const std::string& title, const std::string& intro,
                        std::span<const Trace> traces) {
  return page_shell(
      title, intro,
      fmt::format("{} run{} · porter {}", traces.size(), traces.size() == 1 ? "" : "s", kVersion),
      summary_section(traces) + privacy_section(traces) + plots_section(traces) +
          graph_section(traces) + runs_section(traces));
}

}  // namespace porter
