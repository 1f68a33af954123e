// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What a target defines: it must accept or refuse (by porter::Error) any input, and do nothing
/// else.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

/// Valid inputs to start from.
std::vector<std::string> fuzz_seeds();
