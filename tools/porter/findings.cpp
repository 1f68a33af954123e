// SPDX-License-Identifier: Apache-2.0
#include "findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"

namespace porter::cli {
namespace {

constexpr std::size_t kWidest = 32;

std::string kind_of(const Schema& schema, const std::string& name) {
  for (const auto& column : schema.columns)
    if (column.name == name) return std::string(choice_text(column.kind));
  if (schema.weight && schema.weight->name == name) return "weight";
  return std::ranges::count(schema.labels, name, &Label::name) > 0 ? "label" : "not in it";
}

}  // namespace

std::vector<std::vector<std::string>> finding_rows(const SchemaGuess& found) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& column : found.columns)
    rows.push_back(
        {without_controls(column.name), kind_of(found.schema, column.name),
         std::to_string(column.missing),
         fmt::format("{}{}", column.more ? "> " : "", column.different),
         column.numbers == 0 ? "" : fmt::format("{:.6g} .. {:.6g}", column.least, column.most)});
  return rows;
}

void print_findings(const SchemaGuess& found) {
  const auto rows = finding_rows(found);
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < kFindingHeads.size(); ++c) {
    std::size_t width = std::string_view(kFindingHeads[c]).size();
    for (const auto& row : rows) width = std::max(width, row[c].size());
    widths.push_back(std::min(width, kWidest));
  }
  const auto line = [&](const auto& cells, const std::string& why) {
    std::string text;
    for (std::size_t c = 0; c < kFindingHeads.size(); ++c)
      text += is_count_column(c) ? fmt::format("{:>{}}  ", cells[c], widths[c])
                                 : fmt::format("{:<{}}  ", cells[c], widths[c]);
    fmt::print("{}{}\n", text, why);
  };
  line(kFindingHeads, "why");
  for (std::size_t i = 0; i < rows.size(); ++i) line(rows[i], found.columns[i].why);
}

}  // namespace porter::cli
