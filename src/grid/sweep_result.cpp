// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/registry.hpp"
#include "core/text.hpp"
#include "grid/sweep.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "porter/version.hpp"
#include "report/text.hpp"

namespace porter {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kApart = 1.5;  // times the loss of the average: the agents disagree

SettingResult summed_up(const Sweep& sweep, std::vector<GridRun> runs) {
  SettingResult result{.setting = runs.front().setting, .status = RunEnd::finished};
  std::size_t bad = 0, tried = 0;
  for (const auto& run : runs) {
    tried += run.status != RunEnd::skipped;
    if (run.status == RunEnd::finished || run.status == RunEnd::skipped) continue;
    ++bad;
    if (result.status != RunEnd::finished && run.status <= result.status) continue;
    result.status = run.status;
    result.reason = run.reason;
  }
  const bool some = result.status == RunEnd::diverged && bad < tried;
  if (some)
    result.reason =
        concat(bad, " of ", tried, sweep.folds > 0 ? " runs: " : " seeds: ", result.reason);
  result.runs = std::move(runs);
  result.mean = result.mean_of(sweep.metric.column);
  if (result.mean && result.runs.size() > 1) {
    double squares = 0;
    for (const auto& run : result.runs)
      squares += std::pow(*run.last(sweep.metric.column) - *result.mean, 2);
    result.stddev = std::sqrt(squares / static_cast<double>(result.runs.size() - 1));
  }
  return result;
}

Json values_json(const Sweep& sweep, std::size_t setting) {
  Json values = Json::object();
  for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
    const auto& text = sweep.settings[setting].values[i];
    const auto number = parse_number<double>(text);
    values[sweep.keys[i]] = number ? Json(*number) : Json(plain_value(text));
  }
  return values;
}

Json setting_json(const Sweep& sweep, const SettingResult& result) {
  Json json = {{"values", values_json(sweep, result.setting)},
               {"status", to_string(result.status)},
               {"reason", result.reason},
               {"mean", or_null(result.mean)},
               {"stddev", or_null(result.stddev)},
               {"means", Json::object()}};
  for (const auto& column : metrics_columns())
    json["means"][column.name] = or_null(result.mean_of(column));
  return json;
}

// Whether the best value of a numeric key is the smallest or largest that was tried.
std::string at_the_end(const Sweep& sweep, const SettingResult& best, std::size_t axis) {
  std::vector<double> tried;
  for (const auto& setting : sweep.settings) {
    const auto value = parse_number<double>(setting.values[axis]);
    if (!value) return {};
    tried.push_back(*value);
  }
  const auto [low, high] = std::minmax_element(tried.begin(), tried.end());
  const double value = tried[best.setting];
  if (*low == *high || (value != *low && value != *high)) return {};
  return concat("The best ", sweep.keys[axis], ", ", value, ", is the ",
                value == *low ? "smallest" : "largest",
                " that was tried: the optimum may lie beyond.");
}

// The average of the agents may be good where none of them is.
std::string agents_apart(const Sweep& sweep, const SettingResult& best) {
  if (std::string_view(sweep.metric.column.name).starts_with("agent_")) return {};
  const auto mean = [&](const char* name) { return best.mean_of(find_sweep_metric(name).column); };
  const auto average = mean("loss"), agents = mean("agent_loss_mean");
  if (!average || !agents || !(*agents > kApart * *average)) return {};
  return concat("The agents of the best setting are far from their average: their mean loss is ",
                *agents, ", that of the average ", *average,
                ". To tune what the agents hold, choose by agent_loss_mean.");
}

}  // namespace

SweepMetric find_sweep_metric(const std::string& name) {
  auto columns = metrics_columns();
  for (const std::string_view other : {"round", "epsilon", "seconds"})
    std::erase_if(columns, [&](const auto& column) { return column.name == other; });
  const bool higher = name.find("accuracy") != name.npos || name.find("_r2") != name.npos;
  return {find_named(columns, name, "metric"), higher};
}

bool SweepMetric::held_out() const {
  const std::string_view name = column.name;
  return name.starts_with("test_") ||
         (name.starts_with("agent_") && !name.starts_with("agent_loss"));
}

std::optional<double> SettingResult::mean_of(const MetricsColumn& column) const {
  double sum = 0;
  for (const auto& run : runs) {
    const auto value = run.last(column);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum / static_cast<double>(runs.size());
}

const SettingResult* SweepResult::best() const {
  const bool any = !ranked.empty() && ranked.front().status == RunEnd::finished;
  return any ? &ranked.front() : nullptr;
}

std::size_t SweepResult::count(RunEnd status) const {
  return static_cast<std::size_t>(std::count_if(
      ranked.begin(), ranked.end(), [&](const auto& result) { return result.status == status; }));
}

SweepResult rank_settings(const Sweep& sweep, std::vector<std::vector<GridRun>> runs) {
  SweepResult result;
  for (auto& of_setting : runs) result.ranked.push_back(summed_up(sweep, std::move(of_setting)));
  const auto round = [](const SettingResult& r) {
    const auto& rows = r.runs.front().rows;
    return rows.empty() ? 0 : rows.back().round;
  };
  std::stable_sort(result.ranked.begin(), result.ranked.end(), [&](const auto& a, const auto& b) {
    if (a.status != b.status) return a.status < b.status;
    if (a.status == RunEnd::dropped && round(a) != round(b)) return round(a) > round(b);
    const bool by_metric = a.status == RunEnd::finished || a.status == RunEnd::dropped;
    return by_metric && a.mean && b.mean && sweep.metric.better(*a.mean, *b.mean);
  });
  return result;
}

std::vector<std::string> sweep_notes(const Sweep& sweep, const SweepResult& result) {
  std::vector<std::string> notes;
  const std::string metric = sweep.metric.column.name;
  const bool any_private = std::ranges::any_of(
      sweep.settings, [](const auto& s) { return s.config && s.config->privacy; });
  notes.push_back(concat(
      "Tuning is not covered by any epsilon: ", sweep.settings.size(), " settings times ",
      sweep.seeds.size(), sweep.seeds.size() == 1 ? " seed" : " seeds",
      sweep.folds > 0 ? concat(" times ", sweep.folds, " folds") : "",
      " were trained on the same data and compared by raw figures. ",
      any_private ? "The epsilon of a run, here or later, is that of this one run alone; "
                    "tune on public data, or count the search too."
                  : "On private data, tune on public data like it, or count the search too."));
  if (metric == "utility" || metric == "grad_norm_sq")
    notes.push_back(
        "A small gradient is no proof of a good model: where a regulariser flattens out, a step "
        "that blows x up has one too. Look at the loss beside it.");
  if (sweep.folds > 0 && sweep.metric.held_out())
    notes.push_back(concat("The best was chosen by ", metric, " over ", sweep.folds,
                           " folds, so its figures are a little optimistic. best.toml trains on "
                           "all rows and has no test set."));
  else if (sweep.folds > 0)
    notes.push_back(concat(metric,
                           " is measured on the rows that are trained on: the folds have "
                           "no part in the choice. test_loss chooses by them."));
  else if (sweep.metric.held_out())
    notes.push_back(concat("The best was chosen by ", metric,
                           ": its test figures are optimistic and no estimate for new data."));
  if (const auto* best = result.best()) {
    notes.push_back(agents_apart(sweep, *best));
    for (std::size_t axis = 0; axis < sweep.keys.size(); ++axis)
      notes.push_back(at_the_end(sweep, *best, axis));
  }
  std::erase(notes, "");
  return notes;
}

std::string sweep_csv(const Sweep& sweep, const SweepResult& result) {
  std::string out = concat("setting,seed,", sweep.folds > 0 ? "fold," : "", "status,reason");
  for (const auto& key : sweep.keys) out += ',' + escape_csv(key);
  for (const auto& column : metrics_columns()) out += ',' + std::string(column.name);
  out += '\n';
  std::vector<const SettingResult*> in_order(result.ranked.size());
  for (const auto& setting : result.ranked) in_order[setting.setting] = &setting;
  for (const auto* setting : in_order)
    for (const auto& run : setting->runs) {
      const auto fold = sweep.folds > 0 ? concat(run.fold, ',') : "";
      out += concat(run.setting, ',', run.seed, ',', fold, to_string(run.status), ',',
                    escape_csv(run.reason));
      for (const auto& value : sweep.settings[run.setting].values)
        out += ',' + escape_csv(plain_value(value));
      for (const auto& column : metrics_columns())
        out += ',' + (run.rows.empty() ? "" : column.text(run.rows.back()));
      out += '\n';
    }
  return out;
}

std::string sweep_summary_json(const Sweep& sweep, const SweepResult& result) {
  const auto* best = result.best();
  Json json = {{"porter", kVersion},
               {"metric", sweep.metric.column.name},
               {"better", sweep.metric.higher_is_better ? "higher" : "lower"},
               {"seeds", sweep.seeds},
               {"settings", sweep.settings.size()},
               {"finished", result.count(RunEnd::finished)},
               {"dropped", result.count(RunEnd::dropped)},
               {"diverged", result.count(RunEnd::diverged)},
               {"failed", result.count(RunEnd::failed)},
               {"best", best ? setting_json(sweep, *best) : Json(nullptr)},
               {"notes", sweep_notes(sweep, result)},
               {"ranked", Json::array()}};
  if (sweep.folds > 0) json["folds"] = sweep.folds;
  for (const auto& setting : result.ranked) json["ranked"].push_back(setting_json(sweep, setting));
  return json_text(json, 2) + "\n";
}

}  // namespace porter
