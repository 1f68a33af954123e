// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace porter {

/// A whole page around the sections: style, title, an introduction (plain text, may be empty), a
/// line about the page (plain text), script. It loads nothing and needs nothing.
std::string page_shell(const std::string& title, const std::string& intro, const std::string& meta,
                       const std::string& sections);

std::string page_section(const char* id, const char* title, const std::string& body);

/// A word of a POSIX shell.
std::string shell_word(const std::string& text);

}  // namespace porter
