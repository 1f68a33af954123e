// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "report/table.hpp"

namespace porter {
namespace {

using Value = std::optional<double>;

// A column of numbers: where the number comes from and how it is written.
struct Figure {
  TableColumn column;
  std::function<Value(const Trace&)> value;
  std::string (*format)(double) = format_number;
  bool is_bound = false;  // of several runs the largest holds, not the mean
};

std::function<Value(const Trace&)> last(const char* column) {
  return [column](const Trace& trace) { return trace.last(column); };
}

std::function<Value(const Trace&)> fact(const char* key) {
  return [key](const Trace& trace) { return trace.number(key); };
}

Value utility(const Trace& trace) {
  return trace.has_utility() ? trace.last("utility") : std::nullopt;
}

Value epsilon(const Trace& trace) {
  const auto& bounds = trace.privacy.epsilon;
  return bounds ? Value(bounds->upper) : trace.last("epsilon");
}

std::string format_accuracy(double value) { return fmt::format("{:.4f}", value); }
std::string format_bound(double value) { return rounded_up(value, 4); }
std::string format_round(double value) { return fmt::format("{:.0f}", value); }

const std::vector<Figure>& figures() {
  using enum Better;
  static const std::vector<Figure> all = {
      {{"rounds", "rounds"}, last("round"), format_round},
      {{"loss", "loss", lower}, last("loss")},
      {{"utility", "utility", lower}, utility},
      {{"test_accuracy", "test acc.", higher}, last("test_accuracy"), format_accuracy},
      {{"agent_accuracy_worst", "worst acc.", higher},
       last("agent_accuracy_worst"),
       format_accuracy},
      {{"test_rmse", "test RMSE", lower}, last("test_rmse")},
      {{"test_r2", "test R2", higher}, last("test_r2"), format_accuracy},
      {{"agent_r2_worst", "worst R2", higher}, last("agent_r2_worst"), format_accuracy},
      {{"agent_loss_worst", "worst loss", lower}, last("agent_loss_worst")},
      {{"consensus_error", "consensus", lower}, last("consensus_error")},
      {{"bits_per_agent", "bits/agent", lower}, last("bits_per_agent"), format_si},
      {{"sigma", "sigma"}, fact("sigma")},
      {{"epsilon", "epsilon ≤"}, epsilon, format_bound, true},
      {{"seconds_per_round", "per round", lower}, fact("seconds_per_round"), format_seconds},
  };
  return all;
}

std::string deviation_text(double value, std::string (*format)(double)) {
  if (format != format_number) return format(value);
  return value >= 100 && value < 1e4 ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
}

TableCell cell_of(const Figure& figure, const RunGroup& group) {
  const auto spread = group.spread(figure.value);
  if (!spread) return {};
  if (figure.is_bound) return number_cell(spread->high, figure.format);
  auto cell = number_cell(spread->mean, figure.format);
  if (spread->is_wide()) cell.text += " ± " + deviation_text(*spread->stddev, figure.format);
  return cell;
}

// For machines alone: people read it behind the mean.
TableCell deviation_of(const Figure& figure, const RunGroup& group) {
  const auto spread = group.spread(figure.value);
  return {.value = spread && !figure.is_bound ? spread->stddev : std::nullopt};
}

std::string place_of(const Trace& trace) {
  const auto round = trace.last("round");
  return round ? fmt::format("round {:.0f}", *round) : "no round at all";
}

constexpr std::size_t kMostNotes = 8;  // of one kind

void add_status_notes(std::span<const RunGroup> groups, std::vector<std::string>& notes) {
  std::vector<std::string> all;
  for (const auto& group : groups) {
    for (const auto& run : group.runs)
      if (run.status != "finished")
        all.push_back(fmt::format("{} {}: its figures are those of {}.", run.name,
                                  run.status == "unfinished" ? "has not ended" : run.status,
                                  place_of(run)));
    for (const auto& run : group.apart)
      all.push_back(fmt::format("{} {} after {} and has no part in the mean.", run.name, run.status,
                                place_of(run)));
  }
  if (all.size() > kMostNotes) {
    const auto more = all.size() - kMostNotes + 1;
    all.resize(kMostNotes - 1);
    all.push_back(fmt::format("{} more runs did not finish.", more));
  }
  notes.insert(notes.end(), all.begin(), all.end());
}

void add_majority_notes(std::span<const RunGroup> groups, std::vector<std::string>& notes) {
  std::map<double, std::vector<const RunGroup*>> by_rate;
  for (const auto& group : groups)
    if (const auto rate = group.first().number("majority_rate")) by_rate[*rate].push_back(&group);
  for (const auto& [rate, alike] : by_rate) {
    std::vector<std::string> all, no_better;
    for (const auto* group : alike) {
      all.push_back(group->name);
      if (const auto accuracy = group->last("test_accuracy");
          accuracy &&
          (accuracy->mean <= rate || format_accuracy(accuracy->mean) == format_accuracy(rate)))
        no_better.push_back(group->name);
    }
    auto note =
        fmt::format("Always answering the majority class scores {:.4f} on the test set", rate);
    if (by_rate.size() > 1) note += " of " + listing(all);
    if (!no_better.empty())
      note += fmt::format("; {} {} no better", listing(no_better),
                          no_better.size() == 1 ? "is" : "are");
    notes.push_back(note + ".");
  }
}

// Whether the figures of all are of one problem, as far as they say.
bool same_data(std::span<const RunGroup> groups) {
  std::set<std::string> all;
  for (const auto& group : groups) {
    const auto& facts = group.first().facts;
    if (const auto data = facts.find("data"); data != facts.end()) all.insert(data->second);
  }
  return all.size() <= 1;
}

// The first group whose cell of the column is marked.
std::string winner(const Table& table, std::span<const RunGroup> groups, const char* key) {
  const auto column = std::ranges::find(table.columns, key, &TableColumn::key);
  const auto c = static_cast<std::size_t>(column - table.columns.begin());
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (table.rows[i][c].best) return groups[i].name;
  return {};
}

// A small gradient is not a small loss: the regulariser of the logistic problem is flat far out.
void add_utility_notes(std::span<const RunGroup> groups, std::vector<std::string>& notes) {
  const auto table = compare_runs(groups);
  const auto by_utility = winner(table, groups, "utility"), by_loss = winner(table, groups, "loss");
  if (!by_utility.empty() && !by_loss.empty() && by_utility != by_loss)
    notes.push_back(fmt::format(
        "Utility (the running mean of the squared gradient norm) favours {}, the loss favours {}: "
        "a small gradient is not a small loss, so judge by loss and accuracy too.",
        by_utility, by_loss));
  std::vector<std::string> without;
  for (const auto& group : groups)
    if (!group.spread(utility) && group.last("utility")) without.push_back(group.name);
  if (!without.empty())
    notes.push_back(
        fmt::format("No utility is shown for {}: it is a mean over all rounds, and fewer than {} "
                    "rounds between "
                    "the first and the last were evaluated (run.evaluate), too few to compare it.",
                    listing(without), kEvaluationsForUtility));
}

// An average may do worse than every agent, but more often the rows differ.
void add_worst_note(std::span<const RunGroup> groups, std::vector<std::string>& notes) {
  std::vector<std::string> below;
  for (const auto& group : groups) {
    const auto loss = group.last("loss"), worst = group.last("agent_loss_worst");
    if (loss && worst && worst->mean < loss->mean) below.push_back(group.name);
  }
  if (!below.empty())
    notes.push_back(fmt::format(
        "Worst loss is below loss for {}: loss is over all training rows, worst loss over an even "
        "sample of them, so differences of this size between the two say nothing.",
        listing(below)));
}

}  // namespace

Table compare_runs(std::span<const RunGroup> groups) {
  Table table{text_columns({"run", "algorithm", "status"})};
  table.columns.insert(table.columns.begin() + 1, {.key = "seeds", .title = "seeds"});
  for (const auto& figure : figures()) table.columns.push_back(figure.column);
  const bool deviations = std::ranges::any_of(groups, &RunGroup::several);
  if (deviations)
    for (const auto& figure : figures())
      table.columns.push_back({figure.column.key + "_stddev", figure.column.title + " ±"});
  const auto text = [](const std::string& known) { return known.empty() ? kAbsent : known; };
  for (const auto& group : groups) {
    const auto& facts = group.first().facts;
    const auto algorithm = facts.find("algorithm");
    auto& row = table.rows.emplace_back();
    row = {{.text = text(group.name)},
           {.text = group.several() ? std::to_string(group.seeds()) : kAbsent,
            .value = static_cast<double>(group.seeds())},
           {.text = text(algorithm == facts.end() ? "" : algorithm->second)},
           {.text = text(group.status())}};
    for (const auto& figure : figures()) row.push_back(cell_of(figure, group));
    if (deviations)
      for (const auto& figure : figures()) row.push_back(deviation_of(figure, group));
  }
  if (same_data(groups)) table.mark_best([&](std::size_t row) { return !groups[row].diverged(); });
  return table;
}

std::vector<std::string> compare_notes(std::span<const RunGroup> groups) {
  std::vector<std::string> notes;
  if (!same_data(groups))
    notes.emplace_back("No best is marked: these runs are of different data.");
  add_status_notes(groups, notes);
  add_majority_notes(groups, notes);
  add_utility_notes(groups, notes);
  add_worst_note(groups, notes);
  return notes;
}

std::string comparison_text(std::span<const RunGroup> groups, bool markdown) {
  const auto table = compare_runs(groups);
  const char* bullet = markdown ? "- " : "  ";
  auto text = fmt::format("{}\n{}{}", markdown ? table.to_markdown() : table.to_text(), bullet,
                          how_to_read(groups));
  if (table.has_best())
    text += fmt::format(" {}: best of the runs that did not diverge.", markdown ? "Bold" : "*");
  text += '\n';
  for (const auto& note : compare_notes(groups)) text += bullet + note + '\n';
  for (const auto& group : privacy_groups(groups))
    text += fmt::format("{}Privacy of {}: {}\n", bullet, group.names(groups.size()), group.text);
  return text;
}

std::string how_to_read(std::span<const RunGroup> groups) {
  std::string text =
      "Figures of the last evaluation, at the average of the agents unless said otherwise.";
  if (std::ranges::any_of(groups, &RunGroup::several))
    text += " Runs that differ only in run.seed are one row: mean ± standard deviation.";
  return text;
}

std::string PrivacyGroup::names(std::size_t all) const {
  constexpr std::size_t kMostNames = 6;
  if (runs.size() <= kMostNames) return listing(runs);
  if (runs.size() == all) return fmt::format("all {}", all);
  auto shown = runs;
  shown.resize(kMostNames - 1);
  shown.push_back(fmt::format("{} more", runs.size() - shown.size()));
  return listing(shown);
}

std::vector<PrivacyGroup> privacy_groups(std::span<const RunGroup> groups) {
  std::vector<PrivacyGroup> alike;
  std::vector<const RunGroup*> last;  // of each, whom it has named last
  const auto add = [&](const PrivacyStatement& privacy, const RunGroup& group) {
    const auto text = privacy.sentence.empty() ? "No statement about privacy: treat as not private."
                                               : privacy.sentence;
    const auto found = std::ranges::find_if(alike, [&](const auto& known) {
      return known.text == text && known.guaranteed == privacy.guaranteed;
    });
    const auto place = static_cast<std::size_t>(found - alike.begin());
    if (found == alike.end()) {
      alike.push_back({.text = text, .runs = {}, .guaranteed = privacy.guaranteed});
      last.push_back(nullptr);
    }
    if (std::exchange(last[place], &group) != &group) alike[place].runs.push_back(group.name);
  };
  for (const auto& group : groups)
    for (const auto* runs : {&group.runs, &group.apart})
      for (const auto& run : *runs) add(run.privacy, group);
  return alike;
}

}  // namespace porter
