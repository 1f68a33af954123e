// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.hpp"
#include "io/file.hpp"
#include "paths.hpp"
#include "porter/core/error.hpp"

namespace porter {

/// The folder with reference points of other accountants: $PORTER_VECTORS, beside $PORTER_DATA, or
/// shared/vectors in a folder above the sources. Tests without it skip, visibly.
inline std::optional<std::filesystem::path> vectors_folder() {
  const auto given = [](const char* name) -> std::optional<std::filesystem::path> {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::filesystem::path>(value)
                                              : std::nullopt;
  };
  if (const auto folder = given("PORTER_VECTORS")) return folder;
  std::vector<std::filesystem::path> places;
  if (const auto data = given("PORTER_DATA")) places.push_back(data->parent_path() / "vectors");
  const auto root = std::filesystem::path(source_dir());
  for (const auto& above : {root.parent_path(), root.parent_path().parent_path()})
    places.push_back(above / "shared" / "vectors");
  for (const auto& place : places)
    if (std::filesystem::is_regular_file(place / "accountant.csv")) return place;
  return std::nullopt;
}

inline constexpr const char* kNoVectors =
    "no reference points: set PORTER_VECTORS to the folder with accountant.csv";

/// The fields of a line; "..." may hold commas.
inline std::vector<std::string> split_csv(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

/// A row by the names of its columns.
class VectorRow {
 public:
  explicit VectorRow(std::map<std::string, std::string> fields) : fields_(std::move(fields)) {}
  const std::string& text(const std::string& column) const { return fields_.at(column); }
  bool has(const std::string& column) const { return !text(column).empty(); }
  double number(const std::string& column) const {
    const auto value = parse_number<double>(text(column));
    require(value.has_value(), ErrorKind::io, column, ": not a number: ", text(column));
    return *value;
  }

 private:
  std::map<std::string, std::string> fields_;
};

inline std::vector<VectorRow> read_vectors(const std::filesystem::path& file) {
  const std::string bytes = read_file(file);
  std::vector<VectorRow> rows;
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const auto end = std::min(bytes.find('\n', begin), bytes.size());
    const auto fields = split_csv(std::string_view(bytes).substr(begin, end - begin));
    begin = end + 1;
    if (names.empty()) {
      names = fields;
      continue;
    }
    require(fields.size() == names.size(), ErrorKind::io, file.string(), ": row of ", fields.size(),
            " fields");
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields[i];
    rows.emplace_back(row);
  }
  return rows;
}

}  // namespace porter
