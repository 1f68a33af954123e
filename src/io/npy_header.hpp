// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace porter {

/// What stands before the values of a .npy file of doubles.
std::string npy_header(std::span<const std::size_t> shape);

}  // namespace porter
