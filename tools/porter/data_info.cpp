// SPDX-License-Identifier: Apache-2.0
// porter data info: what is in a data set.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "data/catalog.hpp"
#include "data/measure.hpp"
#include "data/schema_guess.hpp"
#include "data/summary.hpp"
#include "data_arguments.hpp"
#include "findings.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "progress.hpp"
#include "report/bar_chart.hpp"
#include "report/page.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

namespace porter::cli {
namespace {

using Json = nlohmann::ordered_json;

Json describe_set(const Dataset& data, const Dataset& train) {
  Json json = {{"rows", data.rows()}, {"void_rows", data.void_rows()}, {"density", density(data)}};
  if (!data.weights.empty()) json["weight"] = data.counted_weight();
  if (const auto majority = majority_class(train)) {
    json["class_counts"] = class_counts(data);
    json["majority_rate"] = class_rate(data, *majority);
  }
  return json;
}

void print_set(const char* name, const Dataset& data, const Dataset& train) {
  fmt::print("{}: {} rows, {:.4g} % of the entries are not zero\n", name, data.rows(),
             100 * density(data));
  if (!data.weights.empty())
    fmt::print("  their weights add up to {:.6g}, with the largest that is possible as 1\n",
               data.counted_weight());
  const auto counts = class_counts(data);
  for (std::size_t c = 0; c < counts.size(); ++c)
    fmt::print("  class {} (label {}): {} rows\n", c, without_controls(data.classes[c]), counts[c]);
  if (const auto majority = majority_class(train))
    fmt::print("  always answering class {} is right on {:.3f} %\n", *majority,
               100 * class_rate(data, *majority));
}

// "120  75.0 %"
std::string share_cell(std::size_t count, std::size_t all) {
  return fmt::format(
      "{}  {:>5.1f} %", count,
      100 * static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(all, 1)));
}

// The rows and the balance of classes in the two parts, side by side.
void print_parts(const Dataset& train, const Dataset& held_out) {
  const auto counts = class_counts(train), others = class_counts(held_out);
  const auto all = train.rows() + held_out.rows();
  std::vector<std::array<std::string, 3>> lines = {
      {"", "training set", "held out"},
      {"rows", share_cell(train.rows(), all), share_cell(held_out.rows(), all)}};
  for (std::size_t c = 0; c < counts.size(); ++c)
    lines.push_back({fmt::format("class {} (label {})", c, without_controls(train.classes[c])),
                     share_cell(counts[c], train.rows()), share_cell(others[c], held_out.rows())});
  std::array<std::size_t, 3> widths = {};
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c)
      widths[c] = std::max(widths[c], display_width(line[c]));
  for (const auto& line : lines) {
    const std::string gap(widths[0] - display_width(line[0]), ' ');
    fmt::print("{}{}  {:>{}}  {:>{}}\n", line[0], gap, line[1], widths[1], line[2], widths[2]);
  }
  if (const auto majority = majority_class(train))
    fmt::print("always answering class {} is right on {:.3f} % of what is held out\n", *majority,
               100 * class_rate(held_out, *majority));
}

// What the columns of a table hold, as it is written.
std::optional<SchemaGuess> columns_of(const DataArguments& options) {
  if (options.data.schema_file.empty() || options.data.train.empty()) return std::nullopt;
  const auto schema = load_schema(options.data.schema_file);
  TextInput input(options.data.train);
  GuessOptions how{.header = schema.format.header};
  std::size_t place = schema.columns.size();
  const auto next = [&](const std::string& name) {
    ++place;
    return schema.format.header ? name : std::to_string(place);
  };
  if (schema.weight) how.weight = next(schema.weight->name);
  for (const auto& label : schema.labels) how.labels.push_back(next(label.name));
  if (schema.format.separator != '\0') how.separator = schema.format.separator;
  auto found = guess_schema(input, how);
  found.schema = schema;
  return found;
}

BarChart class_chart(const DataPair& data) {
  BarChart chart{.title = "Classes of the training set", .help = {}, .value_title = "rows"};
  const auto counts = class_counts(data.train);
  for (std::size_t c = 0; c < counts.size(); ++c)
    chart.bars.push_back({.label = without_controls(data.train.classes[c]),
                          .value = static_cast<double>(counts[c]),
                          .low = static_cast<double>(counts[c]),
                          .high = static_cast<double>(counts[c]),
                          .text = std::to_string(counts[c])});
  return chart;
}

BarChart gap_chart(const SchemaGuess& found) {
  BarChart chart{.title = "Gaps", .help = "records without a value", .value_title = "records"};
  for (const auto& column : found.columns)
    if (column.missing > 0)
      chart.bars.push_back({.label = without_controls(column.name),
                            .value = static_cast<double>(column.missing),
                            .low = static_cast<double>(column.missing),
                            .high = static_cast<double>(column.missing),
                            .text = fmt::format("{} of {}", column.missing, found.records)});
  return chart;
}

std::string columns_html(const SchemaGuess& found) {
  Table table;
  for (std::size_t c = 0; c < kFindingHeads.size(); ++c)
    table.columns.push_back(
        {.key = kFindingHeads[c], .title = kFindingHeads[c], .is_text = !is_count_column(c)});
  table.columns.push_back(text_column("why", "why"));
  for (auto& cells : finding_rows(found)) {
    auto& row = table.rows.emplace_back();
    for (auto& cell : cells) row.push_back({.text = std::move(cell)});
    row.push_back({.text = without_controls(found.columns[table.rows.size() - 1].why)});
  }
  return "<div class=\"scroll\">\n" + table.to_html() + "</div>\n";
}

std::string info_page(const DataPair& data, const std::optional<SchemaGuess>& found) {
  std::string sections, figures;
  if (found) sections += page_section("columns", "Columns", columns_html(*found));
  if (!data.train.classes.empty()) figures += bar_chart_html(class_chart(data));
  if (found && !gap_chart(*found).bars.empty()) figures += bar_chart_html(gap_chart(*found));
  if (!figures.empty())
    sections += page_section("figures", "Figures", "<div class=\"plots\">" + figures + "</div>");
  return page_shell(
      "What is in the data",
      fmt::format("{} training rows of {} features{}", data.train.rows(), data.train.features,
                  data.test ? fmt::format(", {} test rows", data.test->rows()) : ""),
      data.source, sections);
}

}  // namespace

void DataArguments::add_data_to(App& command) {
  command.add_option("name", data.name, "a known data set, see `porter data list`");
  command.add_option("--train", data.train, "instead: a libsvm, csv or npz file (.gz, .zst)");
  command.add_option("--schema", data.schema_file, "what the columns of a csv file mean");
  command.add_option("--test", data.test, "its test set");
  command.add_option("--features", data.features, "feature columns");
  command.add_option("--classes", data.classes, "labels in the order of the class numbers");
  command.add_option("--train-images", data.train_images, "instead: IDX images");
  command.add_option("--train-labels", data.train_labels, "their IDX labels");
  command.add_option("--test-images", data.test_images, "IDX images of the test set");
  command.add_option("--test-labels", data.test_labels, "their IDX labels");
  command.add_flag("--regression", data.regression, "labels are numbers, not classes");
  command.add_flag("--private", data.guarantee,
                   "read files as with secret noise: records that do not fit --classes and "
                   "--features count for nothing, and how many is said");
  command.add_flag("--json", json, "print JSON");
}

DataPair DataArguments::load() const {
  auto options = data;
  if (!fold.empty()) try {
      options.fold = parse_fold(fold);
    } catch (const Error& error) {
      fail(error.kind(), "--fold: ", error.what());
    }
  if (!options.schema_file.empty()) {
    options.schema =
        std::make_shared<const Schema>(without_measuring(load_schema(options.schema_file)));
    options.regression = options.regression || options.schema->regression();
  }
  ReadingLine line(std::chrono::seconds(5));
  return load_data(options, line.hook());
}

nlohmann::ordered_json class_labels(const Dataset& data) {
  Json labels = Json::array();
  for (const auto& label : data.classes) {
    const auto number = parse_number<double>(label);  // a text may be "inf" or "nan", too
    labels.push_back(number && std::isfinite(*number) ? Json(*number) : Json(label));
  }
  return labels;
}

void print_data_info(const DataArguments& options) {
  const auto data = options.load();
  const auto columns = columns_of(options);
  if (!options.html.empty()) write_file(options.html, info_page(data, columns));
  if (options.json) {
    Json json = {{"source", data.source},
                 {"features", data.train.features},
                 {"sparse", data.train.sparse()},
                 {"classes", class_labels(data.train)},
                 {"outputs", data.train.outputs},
                 {"train", describe_set(data.train, data.train)},
                 {"test", nullptr}};
    if (data.test) json["test"] = describe_set(*data.test, data.train);
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  fmt::print("{}\n{} features, stored {}\n", data.source, data.train.features,
             data.train.sparse() ? "sparse" : "dense");
  if (data.train.outputs > 1) fmt::print("{} targets in each row\n", data.train.outputs);
  if (!data.warning.empty()) fmt::print("warning: {}\n", data.warning);
  if (columns) print_findings(*columns);
  if (options.data.holdout > 0 || !options.fold.empty()) {
    print_parts(data.train, *data.test);
  } else {
    print_set("training set", data.train, data.train);
    if (data.test)
      print_set("test set", *data.test, data.train);
    else
      fmt::print("no test set\n");
  }
  if (options.data.train.empty() && options.data.train_images.empty()) {
    const auto& known = known_data(options.data.name);
    fmt::print("licence: {}\n", known.licence);
    if (!known.citation.empty()) fmt::print("cite: {}\n", known.citation);
  }
}

}  // namespace porter::cli
