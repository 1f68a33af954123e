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
    {"seconds_per_round", "time per round"},
    {"seconds_evaluating", "time evaluating"},
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

std::string summary_section(const PageText& text, std::span<const RunGroup> groups) {
  const auto table = compare_runs(groups);
  std::string notes = fmt::format(
      "<li>{}{}</li>\n", escape_html(how_to_read(groups)),
      table.has_best() ? " <b class=\"best\">Marked</b>: best of the runs that did not diverge."
                       : "");
  for (const auto& note : compare_notes(groups))
    notes += fmt::format("<li>{}</li>\n", escape_html(note));
  for (const auto& source : text.sources)
    notes += fmt::format("<li>{}</li>\n", escape_html(source));
  return page_section("summary", "Summary",
                      "<div class=\"scroll\">\n" + table.to_html() +
                          "</div>\n<ul class=\"notes\">\n" + notes + "</ul>\n");
}

// What agents say of themselves while they train.
std::string agents_section(std::span<const AgentState> agents) {
  if (agents.empty()) return "";
  return page_section("agents", "Agents",
                      "<div class=\"scroll\">\n" + agents_table(agents).to_html() + "</div>\n");
}

std::string privacy_section(std::span<const RunGroup> groups) {
  std::string body;
  for (const auto& group : privacy_groups(groups))
    body += fmt::format(
        "<div class=\"privacy {}\"><strong>{}</strong><span "
        "class=\"runs\">{}</span><p>{}</p></div>\n",
        group.guaranteed ? "guaranteed" : "doubtful",
        group.guaranteed ? "Guarantee" : "No guarantee", escape_html(group.names(groups.size())),
        escape_html(group.text));
  return page_section("privacy", "Privacy", body);
}

std::string plots_section(std::span<const RunGroup> groups) {
  const auto page = page_plots(groups);
  std::string body = "<div class=\"plots\">\n";
  for (const auto& chart : page.charts) body += bar_chart_html(chart);
  for (std::size_t i = 0; i < page.figures.size(); ++i)
    body += tabs_html(page.figures[i], fmt::format("plot{}", i + 1));
  body += "</div>\n";
  for (const auto& note : page.notes)
    body += fmt::format("<p class=\"note\">{}</p>\n", escape_html(note));
  return page_section("plots", "Plots", body);
}

// Each picture once, with the runs that it belongs to.
std::string graph_section(std::span<const RunGroup> groups) {
  std::vector<std::pair<const Trace*, std::vector<std::string>>> graphs;
  for (const auto& group : groups) {
    const auto& trace = group.first();
    if (trace.graph_svg.empty()) continue;
    auto found = std::find_if(graphs.begin(), graphs.end(), [&](const auto& graph) {
      return graph.first->graph_svg == trace.graph_svg;
    });
    if (found == graphs.end()) found = graphs.insert(found, {&trace, {}});
    found->second.push_back(group.name);
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

// A fact as people read it.
std::string fact_text(const Trace& trace, std::string_view key, const std::string& text) {
  const auto value = trace.number(std::string(key));
  if (!value) return text;
  if (key == "threads" && *value == 0) return "one per core";
  if (key.starts_with("seconds_")) return *value == 0 ? "0" : format_seconds(*value);
  if (trace.is_auto(key)) return format_si(*value) + " (auto)";
  const bool whole = text.find_first_not_of("0123456789") == std::string::npos;
  return whole && key != "bytes_sent_per_agent" ? text : format_si(*value);
}

// Those that are known; a run under way has written none yet.
std::string facts_list(const Trace& trace) {
  std::string out;
  const auto add = [&](const char* label, const std::string& text) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", label, escape_html(text));
  };
  const auto clip = trace.facts.find("clip");
  const bool clips = clip == trace.facts.end() || clip->second != "none";
  for (const auto& [key, label] : kFacts)
    if (const auto found = trace.facts.find(key);
        found != trace.facts.end() && (clips || found->first != "clip_target"))
      add(label, fact_text(trace, key, found->second));
  if (const auto& bounds = trace.privacy.epsilon)
    add("epsilon, bounds", rounded_down(bounds->lower, 4) + " to " + rounded_up(bounds->upper, 4));
  return out.empty() ? "<p class=\"note\">Its facts are written when it ends.</p>\n"
                     : "<dl>\n" + out + "</dl>\n";
}

// The command that does it again, which one agent alone cannot.
std::string repeat_text(const Trace& trace) {
  if (trace.agent) return "";
  const auto config =
      trace.repeat.empty() ? shell_word((trace.folder / "config.toml").string()) : trace.repeat;
  const auto out = shell_word(trace.folder.string() + "-again");
  return fmt::format("<p>Repeat this run{}:</p>\n<pre><code>porter run {} --out {}</code></pre>\n",
                     trace.privacy.guaranteed ? ", which costs its budget once more" : "",
                     escape_html(config), escape_html(out));
}

std::string config_text(const Trace& trace) {
  return fmt::format(
      "<details><summary>config.toml, resolved</summary>\n<pre><code>{}</code></pre></details>\n",
      escape_html(trace.config));
}

// Of many only the names; the rest is a click away.
std::string runs_section(std::span<const RunGroup> groups) {
  constexpr std::size_t kMostOpen = 8;
  const bool folded = groups.size() > kMostOpen;
  std::string body;
  for (const auto& group : groups) {
    const auto& trace = group.first();
    const auto status = group.status();
    const auto head =
        fmt::format("<h3>{} <span class=\"status {}\">{}</span></h3>", escape_html(group.label()),
                    status == "finished" ? "good" : "bad", escape_html(status));
    body += folded
                ? fmt::format("<article class=\"folded\">\n<details><summary>{}</summary>\n", head)
                : fmt::format("<article>\n{}\n", head);
    body += facts_list(trace);
    if (group.several())
      body += fmt::format("<p class=\"note\">All this of {}.</p>\n", escape_html(trace.name));
    if (!trace.config.empty()) body += repeat_text(trace) + config_text(trace);
    body += folded ? "</details>\n</article>\n" : "</article>\n";
  }
  return page_section("runs", "Runs", body);
}

}  // namespace

std::string html_report(const PageText& text, std::span<const RunGroup> groups,
                        std::span<const AgentState> agents) {
  std::size_t runs = 0;
  for (const auto& group : groups) runs += group.seeds();
  auto sections = agents_section(agents);
  if (groups.empty())
    for (const auto& source : text.sources)
      sections += fmt::format("<p class=\"note\">{}</p>\n", escape_html(source));
  else
    sections += summary_section(text, groups) + privacy_section(groups) + plots_section(groups) +
                graph_section(groups) + runs_section(groups);
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{} · ", count, what, count == 1 ? "" : "s");
  };
  const auto meta = (runs > 0 || agents.empty() ? counted(runs, "run") : "") +
                    (agents.empty() ? "" : counted(agents.size(), "agent")) + "porter " + kVersion;
  return page_shell(text.title, text.intro, meta, sections, text.live);
}

}  // namespace porter
