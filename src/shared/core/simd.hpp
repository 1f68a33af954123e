// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace porter {

namespace detail {
/// Whether limit_simd was called or PORTER_SIMD was looked at.
extern std::atomic<bool> simd_is_chosen;
void heed_simd_variable();
}  // namespace detail

/// The instruction sets that our vector code knows and this processor runs, best first; on x86-64
/// some of "avx512", "avx2", "sse4", "ssse3". Results do not depend on the one in use: each gives
/// the same bits.
std::vector<std::string> simd_targets();

/// The one in use: the best, unless limit_simd or the environment variable PORTER_SIMD says
/// otherwise. Error{usage} if the variable holds none of the names.
std::string simd_target();

/// From now on the whole program uses `name`, or what comes after it where a kernel has no code for
/// it, whatever PORTER_SIMD says. Call it before other threads start. Throws Error{usage} listing
/// the names that are possible.
void limit_simd(std::string_view name);

/// Heeds PORTER_SIMD unless that is done or limit_simd was called. Kernels call it before they
/// choose their code. Error{usage} as from simd_target().
inline void choose_simd() {
  if (!detail::simd_is_chosen.load(std::memory_order_acquire)) detail::heed_simd_variable();
}

}  // namespace porter
