// SPDX-License-Identifier: Apache-2.0
#include "grid_journal.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "config/config_keys.hpp"
#include "config/difference.hpp"
#include "core/text.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "porter/version.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();

// The first line. Rows are lists, in this order of columns.
std::string header() {
  Json columns = Json::array();
  for (const auto& column : metrics_columns()) columns.push_back(column.name);
  return json_text({{"journal", "porter"}, {"porter", kVersion}, {"columns", columns}}) + '\n';
}

// JSON has no word for infinity; as a text it is the same after a resumption.
Json number_json(const std::optional<double>& value) {
  if (!value) return nullptr;
  return std::isfinite(*value) ? Json(*value) : Json(shortest(*value));
}

std::optional<double> parse_number_json(const Json& json) {
  if (json.is_number()) return json.get<double>();
  return json.is_string() ? parse_number<double>(json.get<std::string>()) : std::nullopt;
}

Json row_json(const MetricsRow& row) {
  Json cells = Json::array();
  for (const auto& column : metrics_columns()) cells.push_back(number_json(column.get(row)));
  return cells;
}

bool is_round(double value) { return value >= 0 && value < kEnd && value == std::floor(value); }

std::optional<MetricsRow> parse_row(const Json& json) {
  const auto& columns = metrics_columns();
  if (!json.is_array() || json.size() != columns.size()) return std::nullopt;
  MetricsRow row;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto value = parse_number_json(json[i]);
    const bool round = std::holds_alternative<std::uint32_t MetricsRow::*>(columns[i].field);
    if ((!value && !json[i].is_null()) || (round && !is_round(value.value_or(-1))))
      return std::nullopt;
    columns[i].set(row, value);
  }
  return row;
}

Json facts_json(const GridFacts& facts) {
  return {{"data", facts.data},
          {"agents", facts.agents},
          {"samples", facts.samples},
          {"dim", facts.dim},
          {"kept", number_json(facts.kept)},
          {"rho", number_json(facts.rho)},
          {"majority_rate", number_json(facts.majority_rate)},
          {"alpha", number_json(facts.alpha)},
          {"sigma", number_json(facts.sigma)},
          {"privacy", facts.privacy}};
}

std::optional<GridFacts> parse_facts(const Json& json) {
  const auto agents = whole_number<std::size_t>(json.at("agents"));
  const auto samples = whole_number<std::size_t>(json.at("samples"));
  const auto dim = whole_number<std::size_t>(json.at("dim"));
  if (!agents || !samples || !dim) return std::nullopt;
  return GridFacts{.data = json.at("data"),
                   .agents = *agents,
                   .samples = *samples,
                   .dim = *dim,
                   .kept = parse_number_json(json.at("kept")),
                   .rho = parse_number_json(json.at("rho")),
                   .majority_rate = parse_number_json(json.at("majority_rate")),
                   .alpha = parse_number_json(json.at("alpha")).value_or(0),
                   .sigma = parse_number_json(json.at("sigma")).value_or(0),
                   .privacy = json.at("privacy")};
}

std::optional<RunEnd> parse_end(const std::string& text) {
  const auto end = find_choice<RunEnd>(text);
  const bool recorded = end != RunEnd::dropped && end != RunEnd::skipped;
  return recorded ? end : std::nullopt;
}

using JournalEntry = std::pair<std::string, GridRun>;

// The entries behind the header.
std::vector<JournalEntry> entries_of(std::string_view lines, const fs::path& path) {
  std::vector<JournalEntry> entries;
  for (std::size_t number = 2; !lines.empty(); ++number) {
    const auto line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(line.size() + 1);
    auto entry = parse_journal_line(line);
    require(entry.has_value(), ErrorKind::io, path.string(), ", line ", number,
            ": not a run of porter; remove the line or the file");
    entries.push_back(std::move(*entry));
  }
  return entries;
}

fs::path journal_in(const fs::path& folder) {
  require(!fs::exists(folder) || fs::is_directory(folder), ErrorKind::usage, "the output ",
          folder.string(), " exists and is not a folder");
  make_folder(folder);
  return folder / GridJournal::kFile;
}

}  // namespace

std::string run_key(const Config& config) {
  std::string all;
  for (const auto& key : config_keys()) {
    const auto text = key.scope == KeyScope::conduct ? std::string() : key.text(config);
    // A key that says nothing is left out, so that runs stay known when keys are added.
    if (!text.empty()) all += concat(key.path(), " = ", text, '\n');
  }
  return sha256_hex(all).substr(0, 32);
}

std::string journal_line(const std::string& key, const GridRun& run) {
  Json json = {
      {"key", key},           {"seed", run.seed},
      {"fold", run.fold},     {"status", to_string(run.status)},
      {"reason", run.reason}, {"facts", run.facts ? facts_json(*run.facts) : Json(nullptr)},
      {"rows", Json::array()}};
  for (const auto& row : run.rows) json["rows"].push_back(row_json(row));
  return json_text(json) + '\n';
}

std::optional<std::pair<std::string, GridRun>> parse_journal_line(std::string_view line) try {
  const auto json = Json::parse(line);
  const std::string key = json.at("key");
  const auto end = parse_end(json.at("status"));
  const auto& facts = json.at("facts");
  const auto seed = whole_number<std::uint64_t>(json.at("seed"));
  const auto fold =
      whole_number<std::uint32_t>(json.value("fold", Json(0U)));  // older ones have none
  if (key.empty() || !end || !seed || !fold) return std::nullopt;
  GridRun run{.seed = *seed, .fold = *fold, .status = *end, .reason = json.at("reason")};
  for (const auto& cells : json.at("rows").get_ref<const Json::array_t&>()) {
    const auto row = parse_row(cells);
    if (!row) return std::nullopt;
    run.rows.push_back(*row);
  }
  if (!facts.is_null() && !(run.facts = parse_facts(facts))) return std::nullopt;
  if ((run.finished() || run.status == RunEnd::paused) && run.rows.empty()) return std::nullopt;
  return std::pair(key, std::move(run));
} catch (const Json::exception&) {
  return std::nullopt;
}

GridJournal::GridJournal(const fs::path& folder, std::string_view who)
    : log_(journal_in(folder), {.sync = AppendFile::Sync::disk,
                                .in_use = concat("another ", who, " is working in this folder")}) {
  const auto text = log_.read_lines();
  const auto first = header();
  foreign_ = !text.empty() && !text.starts_with(first);
  if (text.empty())
    log_.append(first);
  else if (!foreign_)
    load(std::string_view(text).substr(first.size()));
}

void GridJournal::clear() {
  log_.truncate(0);
  log_.append(header());
  runs_.clear();
  foreign_ = false;
}

void GridJournal::load(std::string_view lines) {
  for (auto& [key, run] : entries_of(lines, log_.path()))
    if (run.status != RunEnd::failed) remember(key, std::move(run));
}

std::vector<JournalEntry> read_journal(const fs::path& folder) {
  const auto path = folder / GridJournal::kFile;
  auto text = read_file(path);
  text.resize(text.rfind('\n') + 1);
  const auto first = header();
  require(text.empty() || text.starts_with(first), ErrorKind::io, path.string(),
          ": it was written by another version of porter");
  return text.empty() ? std::vector<JournalEntry>{}
                      : entries_of(std::string_view(text).substr(first.size()), path);
}

void GridJournal::remember(const std::string& key, GridRun run) {
  const auto round = run.status == RunEnd::paused ? run.rows.back().round : kEnd;
  runs_[{key, round}] = std::move(run);
}

const GridRun* GridJournal::find(const std::string& key, std::uint32_t round) const {
  for (const auto at : {round, kEnd})
    if (const auto found = runs_.find({key, at}); found != runs_.end()) return &found->second;
  return nullptr;
}

void GridJournal::append(const std::string& key, const GridRun& run) {
  log_.append(journal_line(key, run));
  remember(key, run);
}

}  // namespace porter
