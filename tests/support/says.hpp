// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "porter/core/error.hpp"

namespace porter {

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// The text of the Error that it ends with, or "none".
inline std::string what_fails(const std::function<void()>& action) {
  try {
    action();
    return "none";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace porter
