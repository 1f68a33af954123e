// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace porter {

/// The instruction sets that our vector code knows and this processor runs, best first; on x86-64
/// some of "avx512", "avx2", "sse4", "ssse3". Results do not depend on the one in use: each gives
/// the same bits.
std::vector<std::string> simd_targets();

/// The one in use: the best, unless limit_simd says otherwise.
std::string simd_target();

/// From now on the whole program uses `name`, or what comes after it where a kernel has no code for
/// it. Call it before other threads start. Throws Error{usage} listing the names that are possible.
void limit_simd(std::string_view name);

}  // namespace porter
