// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace porter {

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace porter
