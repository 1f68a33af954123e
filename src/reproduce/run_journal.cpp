// SPDX-License-Identifier: Apache-2.0
#include "run_journal.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/json_text.hpp"
#include "porter/core/error.hpp"
#include "porter/io/file.hpp"
#include "porter/version.hpp"
#include "run/difference.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kJournalFile = "journal.jsonl";

// The first line. Rows are lists, in this order of columns.
std::string header() {
  Json columns = Json::array();
  for (const auto& column : metrics_columns()) columns.push_back(column.name);
  return json_text({{"journal", "porter reproduce"}, {"porter", kVersion}, {"columns", columns}}) +
         '\n';
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

// A value that is not finite becomes null: JSON has no word for it.
Json row_json(const MetricsRow& row) {
  Json cells = Json::array();
  for (const auto& column : metrics_columns()) cells.push_back(or_null(column.get(row)));
  return cells;
}

std::optional<MetricsRow> parse_row(const Json& json) {
  const auto& columns = metrics_columns();
  if (!json.is_array() || json.size() != columns.size()) return std::nullopt;
  MetricsRow row;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& cell = json[i];
    const auto& field = columns[i].field;
    if (cell.is_number()) {
      const double value = cell.get<double>();
      const bool round = std::holds_alternative<std::uint32_t MetricsRow::*>(field);
      if (round && !(value >= 0 && value <= std::numeric_limits<std::uint32_t>::max()))
        return std::nullopt;
      columns[i].set(row, value);
    } else if (!cell.is_null()) {
      return std::nullopt;
    } else if (std::holds_alternative<double MetricsRow::*>(field)) {
      columns[i].set(row, std::numeric_limits<double>::quiet_NaN());
    }
  }
  return row;
}

Json facts_json(const StudyFacts& facts) {
  return {{"data", facts.data},
          {"agents", facts.agents},
          {"samples", facts.samples},
          {"dim", facts.dim},
          {"kept", or_null(facts.kept)},
          {"rho", or_null(facts.rho)},
          {"majority_rate", or_null(facts.majority_rate)},
          {"alpha", facts.alpha},
          {"sigma", facts.sigma},
          {"privacy", facts.privacy}};
}

// The parts of a JSON object by type, with nothing or a default where they are not there.
std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}
std::optional<double> number_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}
std::size_t count_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<std::size_t>() : 0;
}

StudyFacts parse_facts(const Json& json) {
  StudyFacts facts{.data = text_of(json, "data"),
                   .agents = count_of(json, "agents"),
                   .samples = count_of(json, "samples"),
                   .dim = count_of(json, "dim")};
  facts.kept = number_of(json, "kept");
  facts.rho = number_of(json, "rho");
  facts.majority_rate = number_of(json, "majority_rate");
  facts.alpha = number_of(json, "alpha").value_or(0);
  facts.sigma = number_of(json, "sigma").value_or(0);
  facts.privacy = text_of(json, "privacy");
  return facts;
}

std::optional<StudyRun::Status> parse_status(const std::string& text) {
  using Status = StudyRun::Status;
  for (const auto status : {Status::finished, Status::diverged, Status::failed})
    if (text == to_string(status)) return status;
  return std::nullopt;
}

fs::path journal_in(const fs::path& folder) {
  require(!fs::exists(folder) || fs::is_directory(folder), ErrorKind::usage, "the output ",
          folder.string(), " exists and is not a folder");
  make_folder(folder);
  return folder / kJournalFile;
}

}  // namespace

std::string journal_line(const std::string& key, const StudyRun& run) {
  Json rows = Json::array();
  for (const auto& row : run.rows) rows.push_back(row_json(row));
  Json json = {{"key", key},
               {"seed", run.seed},
               {"status", to_string(run.status)},
               {"reason", run.reason},
               {"facts", run.facts ? facts_json(*run.facts) : Json(nullptr)},
               {"rows", rows}};
  return json_text(json) + '\n';
}

std::optional<JournalEntry> parse_journal_entry(std::string_view line) {
  const auto json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto status = parse_status(text_of(json, "status"));
  JournalEntry entry{.key = text_of(json, "key"), .run = {}};
  const auto rows = json.find("rows");
  if (!status || entry.key.empty() || rows == json.end() || !rows->is_array()) return std::nullopt;
  entry.run.status = *status;
  entry.run.seed = count_of(json, "seed");
  entry.run.reason = text_of(json, "reason");
  for (const auto& cells : *rows) {
    const auto row = parse_row(cells);
    if (!row) return std::nullopt;
    entry.run.rows.push_back(*row);
  }
  if (const auto facts = json.find("facts"); facts != json.end() && facts->is_object())
    entry.run.facts = parse_facts(*facts);
  if (entry.run.finished() && (entry.run.rows.empty() || !entry.run.facts)) return std::nullopt;
  return entry;
}

std::string RunJournal::key_of(Config config, std::uint64_t seed) {
  config.run.seed = seed;
  config.run.threads = 0;
  config.run.checkpoint_every = 0;
  return sha256_hex(to_toml(config));
}

RunJournal::RunJournal(const fs::path& folder, bool forget)
    : log_(journal_in(folder), "porter reproduce") {
  if (forget) log_.clear();
  load();
}

void RunJournal::load() {
  const auto text = log_.read();
  if (!text.starts_with(header())) {  // another version may compute other numbers from a config
    log_.clear();
    return log_.append(header());
  }
  std::string_view rest(text);
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    if (number == 1) continue;
    auto entry = parse_journal_entry(line);
    require(entry.has_value(), ErrorKind::io, log_.file().string(), ", line ", number,
            ": not a run of porter reproduce; remove the line or the file");
    if (entry->run.status != StudyRun::Status::failed) runs_[entry->key] = std::move(entry->run);
  }
}

const StudyRun* RunJournal::find(const std::string& key) const {
  const auto found = runs_.find(key);
  return found == runs_.end() ? nullptr : &found->second;
}

void RunJournal::append(const std::string& key, const StudyRun& run) {
  log_.append(journal_line(key, run));
  runs_[key] = run;
}

}  // namespace porter
