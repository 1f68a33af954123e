// SPDX-License-Identifier: Apache-2.0
#include "report/page_shell.hpp"

#include <fmt/format.h>

#include "page_style.hpp"
#include "report/text.hpp"

namespace porter {

std::string shell_word(const std::string& text) {
  constexpr auto kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:+,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string page_section(const char* id, const char* title, const std::string& body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, title, body);
}

std::string page_shell(const std::string& title, const std::string& intro, const std::string& meta,
                       const std::string& sections) {
  const auto name = escape_html(title);
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\"/>\n"
             "<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n<header>\n<h1>{0}</h1>\n",
             name, kPageStyle) +
         (intro.empty() ? "" : "<p class=\"intro\">" + escape_html(intro) + "</p>\n") +
         fmt::format("<p class=\"meta\">{}</p>\n</header>\n<main>\n{}", escape_html(meta),
                     sections) +
         fmt::format("</main>\n<script>\n{}</script>\n</body>\n</html>\n", kPageScript);
}

}  // namespace porter
