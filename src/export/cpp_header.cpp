// SPDX-License-Identifier: Apache-2.0
// A model as one header: tables that differ from model to model, and code that does not.
#include <fmt/format.h>

#include <utility>

#include "core/text.hpp"
#include "cpp_names.hpp"
#include "cpp_parts.hpp"
#include "formats.hpp"
#include "io/toml.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/statement.hpp"

namespace porter {
namespace {

// A compiler takes a minute and a gigabyte for this many.
constexpr std::size_t kMaxHeaderParameters = 5'000'000;
constexpr std::size_t kLineWidth = 100;

// { a, b, ... } over several lines.
std::string table(const std::vector<std::string>& items) {
  std::string text = "{", line = "\n   ";
  for (const auto& item : items) {
    if (line.size() + item.size() + 2 > kLineWidth) text += std::exchange(line, "\n   ");
    line += " " + item + (&item == &items.back() ? "" : ",");
  }
  return text + line + "}";
}

// A name as people write it, unless it holds characters that reorder a line for the eye only, which
// compilers refuse in comments.
std::string in_comment(const std::string& text) {
  const bool reorders = text.find("\xe2\x80") != text.npos || text.find("\xe2\x81") != text.npos;
  return reorders ? cpp_literal(text) : in_quotes(text);
}

std::string table(const std::vector<double>& values) {
  std::vector<std::string> items;
  for (const double value : values) items.push_back(shortest(value));
  return table(items);
}

const char* outside_rule(const Column& column) {
  return column.outside == Outside::clamp     ? "Rule::clamp"
         : column.outside == Outside::missing ? "Rule::missing"
                                              : "Rule::refuse";
}
const char* missing_rule(const Column& column) {
  return column.missing == Missing::own    ? "Rule::own"
         : column.missing == Missing::fill ? "Rule::fill"
                                           : "Rule::refuse";
}

// One column: a member of Record, its table, and the line of encode() that uses it.
struct CppColumn {
  std::string member, table, call;
};

CppColumn number_column(const ColumnCode& code, const std::string& name) {
  const auto& column = code.column;
  const auto unit = column.unit.empty() ? "" : ", " + in_comment(column.unit);
  return {
      fmt::format("  double {} = std::numeric_limits<double>::quiet_NaN();  // {}{}\n", name,
                  in_comment(column.name), unit),
      fmt::format("inline constexpr Number {}_code = {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}};"
                  "\n",
                  name, cpp_literal(column.name), code.feature, column.low.has_value(),
                  shortest(column.low.value_or(0)), shortest(column.high.value_or(0)),
                  outside_rule(column), shortest(code.shift()), shortest(code.divisor()),
                  missing_rule(column), shortest(column.fill)),
      fmt::format("  detail::encode(record.{0}, detail::{0}_code, features);\n", name)};
}

CppColumn category_column(const ColumnCode& code, const std::string& name) {
  std::vector<std::string> texts;
  for (const auto& [text, place] : code.texts)
    texts.push_back(fmt::format("{{{}, {}}}", cpp_literal(text), place));
  return {fmt::format("  std::string_view {} = {{}};  // {}\n", name, in_comment(code.column.name)),
          fmt::format("inline constexpr Text {0}_texts[] = {1};\n"
                      "inline constexpr Category {0}_code = {{{2}, {3}, {0}_texts, {4}, {5}}};\n",
                      name, table(texts), cpp_literal(code.column.name), code.feature, texts.size(),
                      code.otherwise),
          fmt::format("  detail::encode(record.{0}, detail::{0}_code, features);\n", name)};
}

CppColumn all_columns(const Schema& schema) {
  std::set<std::string> taken;
  CppColumn all;
  for (const auto& code : column_codes(schema)) {
    const auto name = cpp_identifier(code.column.name, taken);
    const auto one = code.column.kind == ColumnKind::number ? number_column(code, name)
                                                            : category_column(code, name);
    all.member += one.member;
    all.table += one.table;
    all.call += one.call;
  }
  return all;
}

std::string layer_tables(const FlatModel& flat) {
  std::string text;
  std::vector<std::string> rows;
  for (std::size_t l = 0; l < flat.layers.size(); ++l) {
    const auto& layer = flat.layers[l];
    text += fmt::format("// {} x {}, row by row\ninline constexpr double weights_{}[] = {};\n",
                        layer.outputs, layer.inputs, l + 1, table(layer.weights));
    text += fmt::format("inline constexpr double biases_{}[] = {};\n", l + 1, table(layer.biases));
    rows.push_back(fmt::format("{{{}, {}, weights_{}, biases_{}}}", layer.inputs, layer.outputs,
                               l + 1, l + 1));
  }
  return text + "inline constexpr Layer layers[] = " + table(rows) + ";\n";
}

std::string scaling_code(const FeatureScaling& scaling) {
  switch (scaling.kind) {
    case FeatureScale::standard:
      return fmt::format(cpp_parts::kStandard, shortest(scaling.mean), shortest(scaling.deviation));
    case FeatureScale::spectral:
      return fmt::format(cpp_parts::kSpectral, shortest(1 / scaling.factor));
    case FeatureScale::unit:
      return cpp_parts::kUnit;
    case FeatureScale::none:
      break;
  }
  return "inline void scale(Features&) {}\n";
}

std::string activation_code(const Activation& activation) {
  switch (activation.kind) {
    case ActivationKind::sigmoid:
      return "1 / (1 + std::exp(-t))";
    case ActivationKind::tanh:
      return "std::tanh(t)";
    case ActivationKind::relu:
      return "t <= 0 ? 0 : t";
    case ActivationKind::tempered:
      break;
  }
  return fmt::format("{} / (1 + std::exp(-{} * t)) - {}", shortest(activation.scale),
                     shortest(activation.rate), shortest(activation.offset));
}

std::string answer_code(const ModelCard& card, const FlatModel& flat) {
  if (flat.answer != Answer::numbers)
    return std::string(flat.answer == Answer::one_score ? cpp_parts::kOneScore
                                                        : cpp_parts::kScores) +
           cpp_parts::kClassNames;
  return fmt::format(cpp_parts::kNumbers, table(flat.target_deviations), table(flat.target_means)) +
         (card.outputs == 1 ? cpp_parts::kOneNumber : cpp_parts::kSeveralNumbers);
}

std::string class_table(const ModelCard& card) {
  std::vector<std::string> names;
  if (card.classes.empty()) {
    if (card.schema)
      for (const auto& label : card.schema->labels) names.push_back(cpp_literal(label.name));
    return fmt::format("inline constexpr std::size_t output_count = {};\n", card.outputs) +
           (names.empty() ? ""
                          : fmt::format("inline constexpr std::string_view output_names[] = {};\n",
                                        table(names)));
  }
  for (const auto& name : card.classes) names.push_back(cpp_literal(name));
  return fmt::format(
      "inline constexpr std::size_t class_count = {};\n"
      "inline constexpr std::string_view class_names[] = {};\n",
      names.size(), table(names));
}

// What is the same for a Record and for Features.
std::string record_functions(const ModelCard& card) {
  if (card.classes.empty())
    return card.outputs == 1 ? cpp_parts::kRecordNumber : cpp_parts::kRecordNumbers;
  return cpp_parts::kRecordClasses;
}

std::string privacy_comment(const SavedModel& saved) {
  if (saved.card.privacy.empty()) return "";
  const auto statement = parse_statement(saved.card.privacy, saved.source);
  auto sentence = without_controls(statement.sentence);
  if (sentence.ends_with('\\')) sentence += '.';  // else it would join the next line to this one
  return "// Privacy: " + sentence + "\n";
}

}  // namespace

std::string to_cpp_header(const SavedModel& saved, const FlatModel& flat,
                          const std::string& space) {
  std::size_t parameters = 0;
  for (const auto& layer : flat.layers) parameters += layer.weights.size() + layer.biases.size();
  require(parameters <= kMaxHeaderParameters, ErrorKind::usage, saved.source, ": ", parameters,
          " parameters are too many for a header (at most ", kMaxHeaderParameters, "); use --onnx");
  const auto& card = saved.card;
  const auto name = cpp_namespace(space);
  std::string text =
      fmt::format("// {}.\n", description(card)) + privacy_comment(saved) + cpp_parts::kBegin +
      fmt::format("namespace {} {{\n\n", name) + "using namespace std::string_view_literals;\n\n" +
      class_table(card) +
      fmt::format("inline constexpr std::size_t feature_count = {};\n\n", flat.features) +
      cpp_parts::kFeatures;
  const auto columns = card.schema ? all_columns(*card.schema) : CppColumn{};
  if (card.schema)
    text += fmt::format(cpp_parts::kRecord, columns.member) + "namespace detail {\n" +
            cpp_parts::kEncoder + columns.table + "}  // namespace detail\n\n" +
            fmt::format(cpp_parts::kEncode, columns.call);
  text += "namespace detail {\n" + std::string(cpp_parts::kLayer) + layer_tables(flat) +
          scaling_code(card.scaling) +
          fmt::format(cpp_parts::kNetwork, activation_code(flat.activation)) +
          "}  // namespace detail\n\n" + answer_code(card, flat);
  if (card.schema) text += record_functions(card);
  return text + fmt::format("\n}}  // namespace {}\n", name);
}

}  // namespace porter
