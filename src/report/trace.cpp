// SPDX-License-Identifier: Apache-2.0
#include "report/trace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 24;
constexpr std::size_t kMaxMetricsBytes = std::size_t{1} << 30;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const auto comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == line.npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// Yields the lines of a text whose every line must end; knows where it is for error messages.
class LineReader {
 public:
  LineReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}
  bool done() const { return text_.empty(); }
  std::string_view next() {
    ++line_;
    check(text_.find('\n') != std::string_view::npos, "the line does not end: the file is cut off");
    auto line = text_.substr(0, text_.find('\n'));
    text_.remove_prefix(line.size() + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
  template <class... Parts>
  void check(bool condition, const Parts&... parts) const {
    require(condition, ErrorKind::io, name_, ":", line_, ": ", parts...);
  }

 private:
  std::string_view text_;
  const std::string& name_;
  std::size_t line_ = 0;
};

void read_header(LineReader& lines, Metrics& metrics) {
  for (const auto cell : cells_of(lines.next())) {
    lines.check(!cell.empty(), "a column has no name");
    lines.check(!metrics.find(cell), "the column '", cell, "' stands there twice");
    metrics.names.emplace_back(cell);
    metrics.columns.emplace_back();
  }
  lines.check(metrics.find("round"), "expected a column 'round'");
}

void read_row(LineReader& lines, Metrics& metrics) {
  const auto cells = cells_of(lines.next());
  lines.check(cells.size() == metrics.names.size(), "expected ", metrics.names.size(),
              " cells, found ", cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto value = parse_number<double>(cells[i]);
    lines.check(value || cells[i].empty(), "column '", metrics.names[i],
                "': expected a number or nothing, found '", cells[i], "'");
    metrics.columns[i].push_back(value);
  }
  const auto& rounds = *metrics.find("round");
  const auto round = rounds.back();
  lines.check(round && *round >= 0 && *round == std::floor(*round) && std::isfinite(*round),
              "column 'round': expected a whole number");
  if (rounds.size() < 2) return;
  const auto before = *rounds[rounds.size() - 2];
  lines.check(*round > before, "column 'round': expected more than ", before, ", found ", *round);
}

// JSON has no infinity: writers put null for it.
std::optional<EpsilonInterval> epsilon_of(const json& summary, const fs::path& path) {
  const auto bounds = summary.find("epsilon");
  if (bounds == summary.end() || !bounds->is_array()) return std::nullopt;
  require(bounds->size() == 2, ErrorKind::io, path.string(),
          ": key 'epsilon': expected [lower, upper] or null");
  const auto bound = [](const json& value) {
    return value.is_number() ? value.get<double>() : std::numeric_limits<double>::infinity();
  };
  return EpsilonInterval{.lower = bound((*bounds)[0]), .upper = bound((*bounds)[1]), .method = {}};
}

void read_summary(const fs::path& path, Trace& trace) {
  json summary;
  const auto content = read_file(path, kMaxTextBytes);
  require(!nests_deep(content), ErrorKind::io, path.string(), ": it is nested too deep");
  try {
    summary = json::parse(content);
  } catch (const json::exception& error) {
    fail(ErrorKind::io, path.string(), ": ", error.what());
  }
  require(summary.is_object(), ErrorKind::io, path.string(), ": expected a JSON object");
  for (const auto& [key, value] : summary.items()) {
    if (value.is_string())
      trace.facts[key] = without_controls(value.get<std::string>());
    else if (value.is_number() || value.is_boolean())
      trace.facts[key] = value.dump();
  }
  const auto text = [&](const char* key, std::string& out) {
    const auto found = trace.facts.find(key);
    if (found != trace.facts.end() && !found->second.empty()) out = found->second;
  };
  text("name", trace.name);
  text("status", trace.status);
  const auto statement = summary.find("privacy");
  if (statement != summary.end() && statement->is_object()) {
    trace.privacy = parse_statement(statement->dump(), path.string() + ": privacy");
  } else {
    // Folders of release 0.1 have a sentence and an interval, which promise nothing.
    text("privacy", trace.privacy.sentence);
    trace.privacy.epsilon = epsilon_of(summary, path);
  }
}

// A pipe in the place of a file would be waited for.
bool is_file(const fs::path& path) {
  std::error_code ignored;  // what may not be looked at is not there
  return fs::is_regular_file(path, ignored);
}

std::string read_if_there(const fs::path& path) {
  return is_file(path) ? read_file(path, kMaxTextBytes) : std::string();
}

// Of config.toml.
constexpr std::string_view kNetworked = "engine = \"tls\"";

bool contains_line(std::string_view text, std::string_view line) {
  const auto at = text.find(line);
  return at != text.npos && (at == 0 || text[at - 1] == '\n');
}

// What is being written may end in the middle of a line.
std::string whole_lines(std::string text) {
  text.resize(text.rfind('\n') + 1);
  return text;
}

}  // namespace

const Metrics::Column* Metrics::find(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr : &columns[static_cast<std::size_t>(found - names.begin())];
}

Metrics parse_metrics(std::string_view text, const std::string& name) {
  require(!text.empty(), ErrorKind::io, name, ": the file is empty");
  Metrics metrics;
  LineReader lines(text, name);
  read_header(lines, metrics);
  while (!lines.done()) read_row(lines, metrics);
  return metrics;
}

std::optional<double> Trace::number(const std::string& key) const {
  const auto found = facts.find(key);
  return found == facts.end() ? std::nullopt : parse_number<double>(found->second);
}

bool Trace::is_auto(std::string_view key) const {
  const auto found = facts.find(concat(key, "_auto"));
  return found != facts.end() && found->second == "true";
}

std::optional<double> Trace::last(std::string_view column) const {
  const auto* values = metrics.find(column);
  return values && !values->empty() ? values->back() : std::nullopt;
}

bool Trace::has_utility() const {
  const auto* rounds = metrics.find("round");
  if (!rounds || rounds->empty()) return false;
  const auto count = std::max(evaluations, rounds->size());
  const bool every_round = static_cast<double>(count) > *rounds->back();
  return every_round || count >= kEvaluationsForUtility + 2;
}

bool is_run_folder(const fs::path& folder) { return is_file(folder / "metrics.csv"); }

Trace load_trace(const fs::path& folder) {
  Trace trace;
  trace.folder = folder.has_filename() ? folder : folder.parent_path();
  trace.name = without_controls(trace.folder.filename().string());
  trace.status = "unfinished";
  const auto metrics_path = trace.folder / "metrics.csv", summary = trace.folder / "summary.json";
  const bool ended = is_file(summary);
  auto metrics = read_file(metrics_path, kMaxMetricsBytes);
  trace.metrics =
      parse_metrics(ended ? metrics : whole_lines(std::move(metrics)), metrics_path.string());
  if (ended) read_summary(summary, trace);
  trace.config = read_if_there(trace.folder / "config.toml");
  trace.graph_svg = read_if_there(trace.folder / "graph.svg");
  // An agent knows nothing of the others, so it has no figures of their average.
  trace.agent = !trace.metrics.find("consensus_error") && contains_line(trace.config, kNetworked);
  return trace;
}

}  // namespace porter
