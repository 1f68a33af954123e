// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace porter {

/// What is wrong with the markup, or "" if every opened tag is closed in order, every attribute is
/// quoted, every '&' starts an entity and no SVG number is "nan" or "inf".
inline std::string markup_fault(std::string_view page) {
  std::vector<std::string> open;
  const auto near = [&](std::size_t at) { return " near: " + std::string(page.substr(at, 80)); };
  for (std::size_t at = 0; at < page.size(); ++at) {
    if (page[at] == '>') return "stray '>'" + near(at);
    if (page[at] == '&') {
      const auto end = page.find(';', at);
      if (end == std::string_view::npos || end > at + 6) return "bare '&'" + near(at);
    }
    if (page[at] != '<') continue;
    if (page.substr(at, 2) == "<!") {
      at = page.find('>', at);
      continue;
    }
    const bool closes = page.substr(at, 2) == "</";
    std::size_t end = at + (closes ? 2 : 1);
    std::string name;
    while (end < page.size() && std::isalnum(static_cast<unsigned char>(page[end])))
      name += page[end++];
    if (name.empty()) return "bare '<'" + near(at);
    int quotes = 0;
    for (; end < page.size() && (page[end] != '>' || quotes % 2 == 1); ++end) {
      if (page[end] == '<') return "'<' inside a tag" + near(at);
      quotes += page[end] == '"';
      if (page[end] == '=' && quotes % 2 == 0 && page[end + 1] != '"')
        return "unquoted attribute" + near(at);
    }
    if (end == page.size() || quotes % 2 == 1) return "unfinished tag" + near(at);
    const auto tag = page.substr(at, end - at);
    for (const char* attribute : {" d=\"", " cx=\"", " cy=\"", " x=\"", " y=\"", " data-x=\""})
      if (const auto from = tag.find(attribute); from != std::string_view::npos) {
        const auto start = from + std::string_view(attribute).size();
        const auto value = tag.substr(start, tag.find('"', start) - start);
        if (value.find("nan") != value.npos || value.find("inf") != value.npos)
          return "non-finite number" + near(at);
      }
    if (closes) {
      if (open.empty() || open.back() != name) return "unexpected </" + name + ">" + near(at);
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
    if (!closes && (name == "script" || name == "style"))
      at = page.find("</" + name, at) - 1;  // raw text
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

inline std::size_t count(std::string_view text, std::string_view piece) {
  std::size_t found = 0;
  for (auto at = text.find(piece); at != text.npos; at = text.find(piece, at + piece.size()))
    ++found;
  return found;
}

inline bool contains(std::string_view text, std::string_view piece) {
  return text.find(piece) != text.npos;
}

}  // namespace porter
