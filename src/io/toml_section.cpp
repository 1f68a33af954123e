// SPDX-License-Identifier: Apache-2.0
#include "io/toml_section.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "porter/core/error.hpp"

namespace porter {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// What an error says of a value: a long one is cut.
std::string found(const toml::node& node) {
  constexpr std::size_t kMax = 100;
  auto text = toml_text(node);
  if (text.size() > kMax) text = text.substr(0, kMax) + "...";
  return text;
}

}  // namespace

TomlSection::TomlSection(const toml::table& root, std::string_view name, const std::string& source)
    : name_(name), source_(source) {
  const auto* node = root.get(name);
  if (node == nullptr) return;
  table_ = node->as_table();
  require(table_ != nullptr, ErrorKind::usage, source_, ":", node->source().begin.line, ": ", name,
          " must be a section [", name, "], found ", found(*node));
}

const toml::node* TomlSection::find(std::string_view key) {
  known_.emplace(key);
  return table_ ? table_->get(key) : nullptr;
}

void TomlSection::read(std::string_view key, std::string& value) {
  const auto* node = find(key);
  if (node == nullptr) return;
  check(node->is_string(), key, "expected a quoted string, found ", found(*node));
  value = *node->value<std::string>();
}

void TomlSection::read(std::string_view key, bool& value) {
  const auto* node = find(key);
  if (node == nullptr) return;
  check(node->is_boolean(), key, "expected true or false, found ", found(*node));
  value = *node->value<bool>();
}

void TomlSection::read(std::string_view key, double& value) {
  const auto* node = find(key);
  if (node == nullptr) return;
  check(node->is_number() && std::isfinite(*node->value<double>()), key,
        "expected a number, found ", found(*node));
  value = *node->value<double>();
}

void TomlSection::read(std::string_view key, std::optional<double>& value) {
  if (find(key) != nullptr) read(key, value.emplace());
}

void TomlSection::read(std::string_view key, std::vector<std::size_t>& value) {
  const auto* node = find(key);
  if (node == nullptr) return;
  check(node->is_array(), key, "expected a list such as [64], found ", found(*node));
  value.clear();
  for (const auto& item : *node->as_array())
    value.push_back(static_cast<std::size_t>(integer(key, item, 1)));
}

std::int64_t TomlSection::integer(std::string_view key, const toml::node& node, std::int64_t least,
                                  std::int64_t most) const {
  check(node.is_integer(), key, "expected a whole number, found ", found(node));
  const auto value = *node.value<std::int64_t>();
  check(value >= least && value <= most, key, "expected a whole number from ", least, " to ", most,
        ", found ", value);
  return value;
}

void TomlSection::refuse_unknown_keys() const {
  if (table_ == nullptr) return;
  for (const auto& entry : *table_) {
    const auto key = entry.first.str();
    if (known_.contains(key)) continue;
    const auto nearest = std::min_element(known_.begin(), known_.end(), [&](auto& a, auto& b) {
      return edit_distance(a, key) < edit_distance(b, key);
    });
    const bool close = edit_distance(*nearest, key) <= 2;
    std::string all;
    for (const auto& known : known_) all += (all.empty() ? "" : ", ") + known;
    reject(key, "unknown key", close ? "; did you mean " + *nearest + "?" : ";", " [", name_,
           "] has: ", all);
  }
}

std::string TomlSection::place(std::string_view key) const {
  const auto* node = table_ ? table_->get(key) : nullptr;
  return (node ? toml_place(*node, source_) : source_) + ": " + name_ + "." + std::string(key) +
         ": ";
}

}  // namespace porter
