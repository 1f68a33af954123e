// SPDX-License-Identifier: Apache-2.0
#include "data/dialect.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "data/csv_reader.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kLines = 100;  // more tell no more

// How many records have the commonest number of fields above one, and that number.
std::pair<std::size_t, std::size_t> agreement(std::string_view text, char separator) {
  std::map<std::size_t, std::size_t> counts;
  CsvReader reader(bytes_of(text), "", separator, RecordLines::one);
  for (std::size_t line = 0; line < kLines && reader.next(); ++line) {
    try {
      ++counts[reader.fields().size()];
    } catch (const Error&) {  // a quote that this separator does not go with
    }
  }
  std::pair<std::size_t, std::size_t> best = {0, 0};
  for (const auto& [fields, records] : counts)
    if (fields > 1) best = std::max(best, std::pair(records, fields));
  return best;
}

}  // namespace

char guess_separator(std::string_view text) {
  const auto whole = text.rfind('\n');
  if (whole != text.npos) text = text.substr(0, whole);
  char best = kSeparators.front();
  std::pair<std::size_t, std::size_t> most = {0, 0};
  for (const char separator : kSeparators)
    if (const auto found = agreement(text, separator); found > most) {
      most = found;
      best = separator;
    }
  return best;
}

std::string_view separator_name(char separator) {
  switch (separator) {
    case ',':
      return "comma";
    case ';':
      return "semicolon";
    case '\t':
      return "tab";
    case '|':
      return "bar";
    default:
      return "another character";
  }
}

}  // namespace porter
