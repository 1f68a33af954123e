// SPDX-License-Identifier: Apache-2.0
#include "paths.hpp"

namespace porter {

std::string source_dir() { return PORTER_SOURCE_DIR; }
std::string binary_dir() { return PORTER_BINARY_DIR; }

}  // namespace porter
