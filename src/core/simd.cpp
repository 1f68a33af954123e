// SPDX-License-Identifier: Apache-2.0
#include "core/simd.hpp"

#include <algorithm>
#include <cstdlib>

#include "porter/core/choice.hpp"
#include "porter/core/error.hpp"

namespace porter {

// Best first.
template <>
struct Choices<Simd> {
  static constexpr Choice<Simd> table[] = {
#if defined(__x86_64__)
    {"avx512", Simd::avx512},
    {"avx2", Simd::avx2},
    {"sse4", Simd::sse4},
    {"ssse3", Simd::ssse3},
#elif defined(__aarch64__)
    {"neon", Simd::neon},
#endif
    {"scalar", Simd::scalar},
    {"wide", Simd::wide},
  };
};

std::atomic<Simd> detail::simd_in_use{Simd::unset};

namespace {

// What the target attributes of core/vectors.hpp let the compiler use, and the system must save, as
// far as the compiler can ask for it.
bool runs(Simd set) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const auto x86_64_v2 = [] {
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  };
  const auto x86_64_v3 = [&] {
#if !defined(__clang__)  // clang 14 has no names for these
    if (!(__builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe") &&
          __builtin_cpu_supports("f16c")))
      return false;
#endif
    return x86_64_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  };
  switch (set) {
    case Simd::avx512:
      return x86_64_v3() && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case Simd::avx2:
      return x86_64_v3();
    case Simd::sse4:
      return x86_64_v2();
    case Simd::ssse3:
      return __builtin_cpu_supports("ssse3");
    default:
      return true;
  }
#else
  return set != Simd::unset;
#endif
}

std::vector<Simd> present() {
  std::vector<Simd> sets;
  std::ranges::copy_if(all_choices<Simd>(), std::back_inserter(sets), runs);
  return sets;
}

// `source` stands before the error.
Simd parse(const char* source, std::string_view name) {
  const auto sets = present();
  const auto found = find_choice<Simd>(name);
  require(found && std::ranges::count(sets, *found) > 0, ErrorKind::usage, source,
          "unknown instruction set \"", name, "\"; this processor has: ", choice_list<Simd>(sets));
  return *found;
}

}  // namespace

Simd detail::choose_simd() {
  const char* name = std::getenv("PORTER_SIMD");
  const bool asked = name != nullptr && *name != '\0';
  const Simd chosen = asked ? parse("PORTER_SIMD: ", name) : present().front();
  // Threads that come here together choose the same; a limit that came between stays.
  auto unset = Simd::unset;
  simd_in_use.compare_exchange_strong(unset, chosen);
  return simd_in_use;
}

std::string simd_target() { return std::string(choice_text(simd())); }

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const Simd set : present()) names.emplace_back(choice_text(set));
  return names;
}

void limit_simd(std::string_view name) { detail::simd_in_use = parse("", name); }

}  // namespace porter
