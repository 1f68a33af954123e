// SPDX-License-Identifier: Apache-2.0
#include "difference.hpp"

#include <sstream>

#include "porter/core/error.hpp"

namespace porter {

std::string first_difference(const std::string& a, const std::string& b) {
  const auto irrelevant = [](const std::string& line) {
    return line.starts_with("threads = ") || line.starts_with("checkpoint = ");
  };
  std::istringstream in_a(a), in_b(b);
  std::string line_a, line_b;
  while (true) {
    const bool more_a = static_cast<bool>(std::getline(in_a, line_a));
    const bool more_b = static_cast<bool>(std::getline(in_b, line_b));
    if (!more_a && !more_b) return {};
    if (!more_a) line_a = "(nothing)";
    if (!more_b) line_b = "(nothing)";
    if (line_a != line_b && !(irrelevant(line_a) && irrelevant(line_b)))
      return "it says: " + line_a + "; asked for: " + line_b;
  }
}

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  require(!error, ErrorKind::io, "cannot create the folder ", path.string(), ": ", error.message());
}

}  // namespace porter
