// SPDX-License-Identifier: Apache-2.0
#include "core/simd.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "core/vectors.hpp"
#include "porter/core/error.hpp"

namespace porter {

std::atomic<std::size_t> detail::vector_width{0};
std::atomic<bool> detail::simd_is_chosen{false};

namespace {

// Highway's bits, the better the lower. Asked once, before a limit can hide some of them.
std::int64_t all_targets() {
  static const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return targets;
}

std::int64_t lowest_bit(std::int64_t bits) { return bits & -bits; }

std::string target_name(std::int64_t target) {
  if (target == HWY_AVX3) return "avx512";
  std::string name = hwy::TargetName(target);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

// `source` stands before the error.
void limit(const char* source, std::string_view name) {
  std::string known;
  for (auto rest = all_targets(); rest != 0; rest &= rest - 1) {
    if (target_name(lowest_bit(rest)) == name) {
      detail::vector_width = 0;
      return hwy::SetSupportedTargetsForTest(rest);
    }
    known += (known.empty() ? "" : ", ") + target_name(lowest_bit(rest));
  }
  fail(ErrorKind::usage, source, "unknown instruction set \"", name,
       "\"; this processor has: ", known);
}

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (auto rest = all_targets(); rest != 0; rest &= rest - 1)
    names.push_back(target_name(lowest_bit(rest)));
  return names;
}

std::string simd_target() {
  choose_simd();
  const auto all = all_targets();
  return target_name(lowest_bit(hwy::SupportedTargets() & all));
}

void limit_simd(std::string_view name) {
  limit("", name);
  detail::simd_is_chosen = true;
}

void detail::heed_simd_variable() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (detail::simd_is_chosen) return;
  const char* name = std::getenv("PORTER_SIMD");
  if (name != nullptr && *name != '\0') limit("PORTER_SIMD: ", name);
  detail::simd_is_chosen = true;
}

std::size_t detail::find_vector_width() {
  const auto target = simd_target();
  return vector_width = target.starts_with("avx512") ? 8 : target == "avx2" ? 4 : 2;
}

}  // namespace porter
