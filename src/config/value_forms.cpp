// SPDX-License-Identifier: Apache-2.0
#include "value_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "core/text.hpp"
#include "porter/algo/algorithm.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/error.hpp"
#include "porter/data/schema.hpp"
#include "porter/graph/absences.hpp"
#include "porter/graph/changing_network.hpp"
#include "porter/model/model.hpp"

namespace porter {
namespace {

constexpr std::size_t kMaxLayers = 1000;

constexpr std::pair<std::string_view, Schedule::Kind> kSchedules[] = {
    {"every", Schedule::Kind::every},
    {"log", Schedule::Kind::log},
    {"log-all", Schedule::Kind::log_all}};

// "0..9"
std::vector<double> parse_label_range(std::string_view text) {
  const auto dots = text.find("..");
  const auto end = dots == text.npos ? std::string_view() : text.substr(dots + 2);
  const auto first = parse_number<std::int32_t>(text.substr(0, dots));
  const auto last = parse_number<std::int32_t>(end);
  require(first && last && *first < *last, ErrorKind::usage,
          "expected a list of labels such as [-1, 1], or a range such as \"0..9\", found \"", text,
          "\"");
  require(std::int64_t{*last} - *first < std::int64_t{kMaxClasses}, ErrorKind::usage,
          "expected at most ", kMaxClasses, " labels, found \"", text, "\"");
  std::vector<double> labels;
  for (double label = *first; label <= *last; ++label) labels.push_back(label);
  return labels;
}

// The numbers that another run has measured are no public knowledge, and its ledgers have paid for
// them, not those of this one.
void require_nothing_measured(const Schema& schema) {
  for (const auto& column : schema.columns)
    require((!column.measured_range || column.lacks_range()) &&
                (!column.measured_moments || column.lacks_moments()),
            ErrorKind::usage, "column \"", column.name,
            "\" has numbers that a run has measured on records. To measure them in this run, write "
            "\"measured\" in their place; to state them as they are, remove the key measured, and "
            "count what they have cost against the budget of these records");
}

bool can_be_unbiased(const std::string& compressor) {
  try {
    make_compressor(compressor, true);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string text_of(const std::optional<double>& value) { return value ? shortest(*value) : ""; }
std::string text_of(const std::optional<LossKind>& value) { return value ? text_of(*value) : ""; }

std::string text_of(const std::optional<FeatureMoments>& moments) {
  if (!moments) return "";
  return concat('[', shortest(moments->mean), ", ", shortest(moments->deviation), ']');
}

std::string text_of(const std::vector<std::size_t>& widths) {
  return fmt::format("[{}]", fmt::join(widths, ", "));
}

std::string text_of(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const auto& text : texts) quoted.push_back(in_quotes(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

// As a range where it is one: neighbours compare the text, and show it where it differs.
std::string text_of(const std::vector<double>& labels) {
  constexpr std::size_t kWorthARange = 4;
  std::vector<std::string> texts;
  bool range = labels.size() >= kWorthARange;
  for (const double label : labels) {
    range = range && label == labels[0] + static_cast<double>(texts.size());
    texts.push_back(label_text(label));
  }
  if (texts.empty()) return "";
  if (range && texts[0].find('.') == texts[0].npos)
    return in_quotes(texts.front() + ".." + texts.back());
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

void read_classes(TomlSection& section, const std::string&, std::vector<double>& classes) {
  const auto* node = section.find("classes");
  if (node == nullptr) return;
  if (node->is_string()) return section.read_parsed("classes", classes, parse_label_range);
  section.check(node->is_array(), "classes",
                "expected a list of labels such as [-1, 1], or a range such as \"0..9\", found ",
                toml_text(*node));
  classes.clear();
  for (const auto& entry : *node->as_array()) {
    const auto label = entry.value<double>();
    section.check(entry.is_number() && std::isfinite(*label), "classes",
                  "a label is a number, as the data file writes it; found ", toml_text(entry));
    classes.push_back(*label);
  }
  section.check(classes.size() >= 2 && classes.size() <= kMaxClasses, "classes", "expected 2 to ",
                kMaxClasses, " labels, found ", classes.size());
  const std::set<double> distinct(classes.begin(), classes.end());
  section.check(distinct.size() == classes.size(), "classes", "a label is listed twice");
}

void read_moments(TomlSection& section, const std::string& name,
                  std::optional<FeatureMoments>& moments) {
  const auto* node = section.find(name);
  if (node == nullptr) return;
  std::vector<double> numbers;
  if (const auto* list = node->as_array())
    for (const auto& entry : *list)
      if (entry.is_number()) numbers.push_back(*entry.value<double>());
  section.check(numbers.size() == 2 && node->as_array()->size() == 2, name,
                "expected a mean and a deviation such as [0.1307, 0.3081], found ",
                toml_text(*node));
  moments = {numbers[0], numbers[1]};
}

// Where agents have budgets of their own the largest of them is what others may rely on.
void read_budgets(TomlSection& section, Config& config) {
  const auto* node = section.find("budgets");
  if (node == nullptr) return;
  auto& budgets = config.privacy->budgets;
  section.check(!section.has("epsilon"), "budgets",
                "in its place each agent has a budget of its own; found epsilon beside it");
  section.check(node->is_array(), "budgets",
                "expected a list of numbers > 0, one for each agent, found ", toml_text(*node));
  budgets.clear();
  for (const auto& entry : *node->as_array()) {
    const auto budget = entry.value<double>();
    section.check(entry.is_number() && std::isfinite(*budget) && *budget > 0, "budgets",
                  "a budget is a number > 0, found ", toml_text(entry));
    budgets.push_back(*budget);
  }
  section.check(budgets.size() == config.network.agents, "budgets", "expected ",
                config.network.agents, " of them, as many as there are agents, found ",
                budgets.size());
  config.privacy->epsilon = *std::ranges::max_element(budgets);
}

std::string budgets_text(const Config& config) {
  std::vector<std::string> texts;
  for (const double budget : config.privacy->budgets) texts.push_back(shortest(budget));
  return texts.empty() ? "" : fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string dense_text(const Config& config) {
  return config.algorithm.dense.empty() ? "" : in_quotes(config.algorithm.dense);
}

std::string batch_text(const Config& config) {
  return config.algorithm.batch == 0 ? "\"full\"" : text_of(config.algorithm.batch);
}

void read_batch(TomlSection& section, const std::string&, std::size_t& batch) {
  const auto* node = section.find("batch");
  if (node == nullptr || !node->is_string()) return section.read_count("batch", batch, 1);
  const auto text = *node->value<std::string>();
  section.check(text == "full", "batch", "expected a whole number or \"full\", found \"", text,
                "\"");
  batch = 0;
}

Schedule parse_schedule(const std::string& text) {
  if (text == "end") return {Schedule::Kind::end, 0};
  const auto spec = split_spec(text);
  const auto count = spec.number<std::uint32_t>();
  for (const auto& [name, kind] : kSchedules)
    if (spec.name == name && count && *count > 0) return {kind, *count};
  fail(ErrorKind::usage, "expected every:N, log:POINTS, log-all:POINTS or end, found \"", text,
       "\"");
}

std::string to_string(const Schedule& schedule) {
  for (const auto& [name, kind] : kSchedules)
    if (schedule.kind == kind) return std::string(name) + ":" + std::to_string(schedule.count);
  return "end";
}

std::string checkpoint_text(const Config& config) {
  const auto period = config.run.checkpoint_every;
  return period == 0 ? "\"off\"" : concat("\"every:", period, '"');
}

std::uint32_t parse_checkpoint(const std::string& text) {
  if (text == "off") return 0;
  const auto spec = split_spec(text);
  const auto period = spec.number<std::uint32_t>();
  require(spec.name == "every" && period && *period > 0, ErrorKind::usage,
          "expected off or every:N, found \"", text, "\"");
  return *period;
}

// Version 0.1 called an engine by what it was made of.
EngineKind parse_engine(const std::string& text) {
  return text == "grpc" ? EngineKind::tls : parse_choice<EngineKind>(text);
}

// A guarantee of epsilon at a sigma that is given means a calibration of this kind.
void read_calibration(TomlSection& section, Config& config) {
  auto& calibration = config.privacy->calibration;
  if (section.has("sigma")) calibration = Calibration::sigma;
  section.read_parsed("calibration", calibration,
                      [](const std::string& text) { return parse_choice<Calibration>(text); });
}

void read_schema(TomlSection& section, Config& config) {
  section.read("schema", config.data.schema_file);
  if (!config.data.schema_file.empty())
    config.data.schema = section.located("schema", [&] {
      auto schema = load_schema(config.data.schema_file);
      require_nothing_measured(schema);
      return std::make_shared<const Schema>(std::move(schema));
    });
}

void read_hidden(TomlSection& section, const std::string& name, std::vector<std::size_t>& widths) {
  section.read(name, widths);
  section.check(widths.size() <= kMaxLayers, name, "expected at most ", kMaxLayers,
                " layers, found ", widths.size());
}

void read_layers(TomlSection& section, const std::string& name, std::vector<std::string>& layers) {
  const auto* node = section.find(name);
  if (node == nullptr) return;
  section.check(node->is_array(), name, "expected a list of layers such as [\"conv:16x4/2\", ",
                "\"tanh\"], found ", toml_text(*node));
  layers.clear();
  for (const auto& item : *node->as_array()) {
    section.check(item.is_string(), name, "a layer is a text such as \"conv:16x4/2\"; found ",
                  toml_text(item));
    layers.push_back(*item.value<std::string>());
  }
  section.located(name, [&] { check_layers(layers); });
}

void read_schedule(TomlSection& section, Config& config) {
  section.read("schedule", config.network.schedule);
  section.located("schedule", [&] { parse_meetings(config.network.schedule); });
}

// A number, or a text that has one or names a file.
void read_dropout(TomlSection& section, Config& config) {
  auto& dropout = config.network.dropout;
  const auto* node = section.find("dropout");
  if (node != nullptr && node->is_number())
    dropout = toml_text(*node);
  else
    section.read("dropout", dropout);
  section.located("dropout", [&] { is_never_absent(dropout); });
}

std::string parse_compressor(const std::string& text) {
  make_compressor(text);
  return text;
}

// A server averages what clients send, so there an unbiased compressor is preferred where one
// exists.
void read_unbiased(TomlSection& section, Config& config) {
  auto& algorithm = config.algorithm;
  const auto& info = find_algorithm(algorithm.name);
  if (info.needs_unbiased || info.meeting == AlgorithmInfo::Meeting::server)
    algorithm.unbiased = can_be_unbiased(algorithm.compressor);
  section.read("unbiased", algorithm.unbiased);
  section.located("unbiased", [&] { make_compressor(algorithm.compressor, algorithm.unbiased); });
}

}  // namespace porter
