// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/json.hpp"

namespace porter {
namespace {

constexpr std::size_t kLongText = 60;   // from here on a cell takes several lines
constexpr std::size_t kShortText = 14;  // up to here all of a column are never broken

// Indices of the columns with some content.
std::vector<std::size_t> shown_columns(const Table& table) {
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (std::any_of(table.rows.begin(), table.rows.end(),
                    [c](const auto& row) { return row[c].text != kAbsent; }))
      shown.push_back(c);
  return shown;
}

// Spaces that fill `text` up to `width` terminal columns.
std::string padding(const std::string& text, std::size_t width) {
  const auto used = display_width(text);
  return std::string(width > used ? width - used : 0, ' ');
}

std::string escape_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '\\' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

TableColumn text_column(const std::string& key, const std::string& title) {
  return {.key = key, .title = title, .is_text = true};
}

std::vector<TableColumn> text_columns(const std::vector<std::string>& keys) {
  std::vector<TableColumn> columns;
  for (const auto& key : keys) columns.push_back(text_column(key, key));
  return columns;
}

TableCell number_cell(const std::optional<double>& value, std::string (*format)(double)) {
  return value ? TableCell{.text = format(*value), .value = value} : TableCell{};
}

void Table::mark_best(const std::function<bool(std::size_t row)>& counts) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].better == Better::neither) continue;
    std::vector<TableCell*> cells;
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (const auto& value = rows[r][c].value; value && std::isfinite(*value))
        if (!counts || counts(r)) cells.push_back(&rows[r][c]);
    if (cells.empty()) continue;
    const auto [low, high] = std::ranges::minmax_element(cells, {}, &TableCell::value);
    // What reads the same is as good: a mark on one of two equal figures would say nothing.
    const auto best = columns[c].better == Better::lower ? *low : *high;
    const auto reads_best = [&](const TableCell* cell) {
      return cell->value == best->value || cell->text == best->text;
    };
    if (std::ranges::all_of(cells, reads_best)) continue;
    for (auto* cell : cells) cell->best = reads_best(cell);
  }
}

bool Table::has_best() const {
  return std::ranges::any_of(
      rows, [](const auto& row) { return std::ranges::any_of(row, &TableCell::best); });
}

std::string Table::to_text() const {
  const auto shown = shown_columns(*this);
  // The mark takes a column of its own behind every number, so that the digits stay aligned.
  const auto marked = [](const TableCell& cell) { return cell.text + (cell.best ? "*" : " "); };
  std::vector<std::vector<std::string>> lines(1);
  for (const auto c : shown) lines[0].push_back(columns[c].title + " ");
  for (const auto& row : rows) {
    lines.emplace_back();
    for (const auto c : shown) lines.back().push_back(marked(row[c]));
  }
  std::string out;
  std::vector<std::size_t> widths(shown.size(), 0);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], display_width(line[i]));
  for (std::size_t n = 0; n < lines.size(); ++n) {
    std::string text;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const auto& cell = lines[n][i];
      const auto fill = padding(cell, widths[i]);
      if (i > 0) text += ' ';
      text += columns[shown[i]].is_text ? cell + fill : fill + cell;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
    if (n > 0) continue;
    std::size_t total = shown.empty() ? 0 : shown.size() - 1;
    for (const auto width : widths) total += width;
    for (std::size_t i = 0; i < total; ++i) out += "─";
    out += '\n';
  }
  return out;
}

std::string Table::to_markdown() const {
  const auto shown = shown_columns(*this);
  std::string head = "|", rule = "|", body;
  for (const auto c : shown) {
    head += ' ' + escape_markdown(columns[c].title) + " |";
    rule += columns[c].is_text ? "---|" : "---:|";
  }
  for (const auto& row : rows) {
    body += '|';
    for (const auto c : shown) {
      const auto text = escape_markdown(row[c].text);
      body += ' ' + (row[c].best ? "**" + text + "**" : text) + " |";
    }
    body += '\n';
  }
  return head + '\n' + rule + '\n' + body;
}

std::string Table::to_html() const {
  const auto shown = shown_columns(*this);
  const auto is_short = [this](std::size_t c) {
    return std::ranges::all_of(
        rows, [c](const auto& row) { return display_width(row[c].text) <= kShortText; });
  };
  std::vector<const char*> kinds;  // by column
  for (std::size_t c = 0; c < columns.size(); ++c)
    kinds.push_back(!columns[c].is_text ? "number" : is_short(c) ? "text short" : "text");
  std::string out = "<table><thead><tr>";
  for (const auto c : shown)
    out += fmt::format("<th scope=\"col\" class=\"{}\">{}</th>", kinds[c],
                       escape_html(columns[c].title));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const auto c : shown)
      out += fmt::format("<td class=\"{}{}{}\">{}</td>", kinds[c], row[c].best ? " best" : "",
                         display_width(row[c].text) > kLongText ? " long" : "",
                         escape_html(row[c].text));
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string Table::to_csv() const {
  std::string out;
  for (std::size_t c = 0; c < columns.size(); ++c)
    out.append(c > 0 ? "," : "").append(escape_csv(columns[c].key));
  out += '\n';
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) out += ',';
      if (row[c].value)
        out += fmt::format("{}", *row[c].value);
      else if (row[c].text != kAbsent)
        out += escape_csv(row[c].text);
    }
    out += '\n';
  }
  return out;
}

std::string Table::to_json() const {
  auto list = nlohmann::ordered_json::array();
  for (const auto& row : rows) {
    nlohmann::ordered_json object;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      auto& slot = object[columns[c].key];
      if (row[c].value && std::isfinite(*row[c].value))
        slot = *row[c].value;
      else if (columns[c].is_text && row[c].text != kAbsent)
        slot = row[c].text;
    }
    list.push_back(std::move(object));
  }
  return json_text(list, 2);
}

}  // namespace porter
