// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "report/table.hpp"

namespace porter {
namespace {

using Value = std::optional<double>;

// A column of numbers: where the number comes from and how it is written.
struct Figure {
  TableColumn column;
  std::function<Value(const Trace&)> value;
  std::string (*format)(double) = format_number;
};

std::function<Value(const Trace&)> last(const char* column) {
  return [column](const Trace& trace) { return trace.last(column); };
}

std::function<Value(const Trace&)> fact(const char* key) {
  return [key](const Trace& trace) { return trace.number(key); };
}

std::string format_accuracy(double value) { return fmt::format("{:.4f}", value); }
std::string format_bound(double value) { return rounded_up(value, 4); }
std::string format_round(double value) { return fmt::format("{:.0f}", value); }

const std::vector<Figure>& figures() {
  using enum Better;
  static const std::vector<Figure> all = {
      {{"rounds", "rounds"}, last("round"), format_round},
      {{"loss", "loss", lower}, last("loss")},
      {{"utility", "utility", lower}, last("utility")},
      {{"test_accuracy", "test acc.", higher}, last("test_accuracy"), format_accuracy},
      {{"agent_accuracy_worst", "worst acc.", higher},
       last("agent_accuracy_worst"),
       format_accuracy},
      {{"agent_loss_worst", "worst loss", lower}, last("agent_loss_worst")},
      {{"consensus_error", "consensus", lower}, last("consensus_error")},
      {{"bits_per_agent", "bits/agent", lower}, last("bits_per_agent"), format_si},
      {{"sigma", "sigma"}, fact("sigma")},
      {{"epsilon", "epsilon ≤"},
       [](const Trace& trace) {
         const auto& bounds = trace.privacy.epsilon;
         return bounds ? Value(bounds->upper) : Value();
       },
       format_bound},
      {{"seconds_per_round", "per round", lower}, fact("seconds_per_round"), format_seconds},
  };
  return all;
}

void add_status_notes(std::span<const Trace> traces, std::vector<std::string>& notes) {
  for (const auto& trace : traces) {
    if (trace.status == "finished") continue;
    const auto round = trace.last("round");
    notes.push_back(fmt::format("{} {}: its figures are those of {}.", trace.name,
                                trace.status == "unfinished" ? "has no summary" : trace.status,
                                round ? fmt::format("round {:.0f}", *round) : "no round at all"));
  }
}

void add_majority_notes(std::span<const Trace> traces, std::vector<std::string>& notes) {
  std::map<double, std::vector<const Trace*>> by_rate;
  for (const auto& trace : traces)
    if (const auto rate = trace.number("majority_rate")) by_rate[*rate].push_back(&trace);
  for (const auto& [rate, runs] : by_rate) {
    std::vector<std::string> all, no_better;
    for (const auto* run : runs) {
      all.push_back(run->name);
      if (const auto accuracy = run->last("test_accuracy"); accuracy && *accuracy <= rate)
        no_better.push_back(run->name);
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

// A small gradient is not a small loss: the regulariser of the logistic problem is flat far out.
void add_utility_note(std::span<const Trace> traces, std::vector<std::string>& notes) {
  const auto table = compare_runs(traces);
  const auto winner = [&](const char* key) -> std::string {
    const auto column = std::ranges::find(table.columns, key, &TableColumn::key);
    const auto c = static_cast<std::size_t>(column - table.columns.begin());
    for (std::size_t i = 0; i < traces.size(); ++i)
      if (table.rows[i][c].best) return traces[i].name;
    return {};
  };
  const auto by_utility = winner("utility"), by_loss = winner("loss");
  if (by_utility.empty() || by_loss.empty() || by_utility == by_loss) return;
  notes.push_back(fmt::format(
      "Utility (the running mean of the squared gradient norm) favours {}, the loss favours {}: "
      "a small gradient is not a small loss, so judge by loss and accuracy too.",
      by_utility, by_loss));
}

}  // namespace

Table compare_runs(std::span<const Trace> traces) {
  Table table{text_columns({"run", "algorithm", "status"})};
  for (const auto& figure : figures()) table.columns.push_back(figure.column);
  const auto text = [](const std::string& known) { return known.empty() ? kAbsent : known; };
  for (const auto& trace : traces) {
    const auto algorithm = trace.facts.find("algorithm");
    auto& row = table.rows.emplace_back();
    row = {{.text = text(trace.name)},
           {.text = text(algorithm == trace.facts.end() ? "" : algorithm->second)},
           {.text = text(trace.status)}};
    for (const auto& figure : figures())
      row.push_back(number_cell(figure.value(trace), figure.format));
  }
  table.mark_best([&](std::size_t row) { return !traces[row].diverged(); });
  return table;
}

std::vector<std::string> compare_notes(std::span<const Trace> traces) {
  std::vector<std::string> notes;
  add_status_notes(traces, notes);
  add_majority_notes(traces, notes);
  add_utility_note(traces, notes);
  return notes;
}

std::string comparison_text(std::span<const Trace> traces, bool markdown) {
  const auto table = compare_runs(traces);
  const char* bullet = markdown ? "- " : "  ";
  auto text = fmt::format(
      "{}\n{}Figures of the last evaluation, at the average of the agents unless said otherwise; "
      "{}: best of the runs that did not diverge.\n",
      markdown ? table.to_markdown() : table.to_text(), bullet, markdown ? "bold" : "*");
  for (const auto& note : compare_notes(traces)) text += bullet + note + '\n';
  for (const auto& group : privacy_groups(traces))
    text += fmt::format("{}Privacy of {}: {}\n", bullet, listing(group.runs), group.text);
  return text;
}

std::vector<PrivacyGroup> privacy_groups(std::span<const Trace> traces) {
  std::vector<PrivacyGroup> groups;
  for (const auto& trace : traces) {
    const bool guaranteed = trace.privacy.guaranteed;
    const auto text = trace.privacy.sentence.empty()
                          ? "No statement about privacy: treat as not private."
                          : trace.privacy.sentence;
    auto found = std::ranges::find_if(groups, [&](const auto& known) {
      return known.text == text && known.guaranteed == guaranteed;
    });
    if (found == groups.end())
      found = groups.insert(found, {.text = text, .runs = {}, .guaranteed = guaranteed});
    found->runs.push_back(trace.name);
  }
  return groups;
}

}  // namespace porter
