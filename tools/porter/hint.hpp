// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "porter/core/error.hpp"

namespace porter::cli {

/// Does it. The library's Error{usage} names parameters; this adds which options set them.
template <class Action>
auto with_hint(std::string_view hint, const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw Error(error.kind(), concat(error.what(), "; ", hint));
  }
}

}  // namespace porter::cli
