// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace porter {

/// What stands before the values of a .npy file: doubles, or bytes ("|u1").
std::string npy_header(std::span<const std::size_t> shape, std::string_view dtype = "<f8");

}  // namespace porter
