// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace porter {

/// The instruction sets that our vector code is compiled for. `scalar` is what every processor of
/// the architecture has, one number at a time as far as we say it; `wide` has the widest registers
/// of all, made up from plain instructions, so that any machine can test them.
enum class Simd { unset, avx512, avx2, sse4, ssse3, neon, scalar, wide };

namespace detail {
extern std::atomic<Simd> simd_in_use;
Simd choose_simd();
}  // namespace detail

/// The one in use: the best, unless limit_simd or the environment variable PORTER_SIMD says
/// otherwise. Error{usage} if the variable holds none of the names.
inline Simd simd() {
  const Simd known = detail::simd_in_use.load(std::memory_order_relaxed);
  return known != Simd::unset ? known : detail::choose_simd();
}

/// Its name.
std::string simd_target();

/// Those that this processor runs, best first; on x86-64 some of "avx512", "avx2", "sse4", "ssse3",
/// "scalar", "wide". Results do not depend on the one in use: each gives the same bits.
std::vector<std::string> simd_targets();

/// From now on the whole program uses `name`, whatever PORTER_SIMD says. Call it before other
/// threads start. Throws Error{usage} listing the names that are possible.
void limit_simd(std::string_view name);

}  // namespace porter
