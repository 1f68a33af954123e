// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "report/table.hpp"
#include "report/text.hpp"

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
       }},
      {{"seconds_per_round", "per round", lower}, fact("seconds_per_round"), format_seconds},
  };
  return all;
}

TableCell text_cell(const std::string& text) {
  TableCell cell;
  if (!text.empty()) cell.text = text;
  return cell;
}

// The best value of a column over the runs that count, and none if it does not tell runs apart.
Value best_of(std::span<const Trace> traces, const Figure& figure) {
  std::vector<double> values;
  for (const auto& trace : traces)
    if (const auto value = figure.value(trace); value && std::isfinite(*value) && !trace.diverged())
      values.push_back(*value);
  if (values.empty() || figure.column.better == Better::neither) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high) return std::nullopt;
  return figure.column.better == Better::lower ? *low : *high;
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
  const auto winner = [&](const char* column) {
    const Figure figure{{column, column, Better::lower}, last(column)};
    const auto best = best_of(traces, figure);
    const auto found = std::find_if(traces.begin(), traces.end(), [&](const Trace& trace) {
      return best && !trace.diverged() && trace.last(column) == best;
    });
    return found == traces.end() ? std::string() : found->name;
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
  Table table;
  for (const char* key : {"run", "algorithm", "status"})
    table.columns.push_back({.key = key, .title = key, .is_text = true});
  for (const auto& trace : traces) {
    const auto algorithm = trace.facts.find("algorithm");
    table.rows.push_back({text_cell(trace.name),
                          text_cell(algorithm == trace.facts.end() ? "" : algorithm->second),
                          text_cell(trace.status)});
  }
  for (const auto& figure : figures()) {
    table.columns.push_back(figure.column);
    const auto best = best_of(traces, figure);
    for (std::size_t i = 0; i < traces.size(); ++i) {
      TableCell cell;
      cell.value = figure.value(traces[i]);
      if (cell.value) cell.text = figure.format(*cell.value);
      cell.best = best && cell.value == best && !traces[i].diverged();
      table.rows[i].push_back(std::move(cell));
    }
  }
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
    text += fmt::format("{}Privacy of {}: {}\n", bullet, group.run_list(), group.text);
  return text;
}

std::string PrivacyGroup::run_list() const { return listing(runs); }

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
