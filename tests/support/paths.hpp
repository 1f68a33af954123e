// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace porter {

/// The root of the source tree and of the build. Functions, so that only one object file depends on
/// where they lie (and a compiler cache serves every clone).
std::string source_dir();
std::string binary_dir();

}  // namespace porter
