// SPDX-License-Identifier: Apache-2.0
// Vector code that is written once, compiled per instruction set and chosen when it is called. The
// bits do not depend on the choice: products and sums are rounded apart (-ffp-contract=off), and
// their order is written out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace porter {

/// `lanes` doubles that the compiler keeps in one register.
template <std::size_t lanes>
struct Lanes {
  typedef double Vector __attribute__((vector_size(lanes * sizeof(double))));
  typedef std::int64_t IntVector __attribute__((vector_size(lanes * sizeof(std::int64_t))));
};

namespace detail {
/// 0: not asked yet.
extern std::atomic<std::size_t> vector_width;
std::size_t find_vector_width();
}  // namespace detail

/// The doubles in the widest register of the instruction set in use (core/simd.hpp): 8, 4 or 2.
inline std::size_t vector_width() {
  const std::size_t known = detail::vector_width.load(std::memory_order_relaxed);
  return known != 0 ? known : detail::find_vector_width();
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
template <class Work>
[[gnu::target("arch=x86-64-v4,prefer-vector-width=512")]] auto run_wide(const Work& work) {
  const Work own = work;  // in registers: what is written through pointers cannot change it
  return own.template operator()<8>();
}
template <class Work>
[[gnu::target("arch=x86-64-v3")]] auto run_medium(const Work& work) {
  const Work own = work;
  return own.template operator()<4>();
}
#endif

/// What work.operator()<lanes>() returns, with the vector width of the instruction set in use. The
/// work, and what it calls, must be always_inline to be compiled for that width.
template <class Work>
auto with_vectors(const Work& work) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  const std::size_t width = vector_width();
  if (width == 8) return run_wide(work);
  if (width == 4) return run_medium(work);
#endif
  return work.template operator()<2>();
}

/// Sums that run over vectors keep this many partial sums, whatever the width, in a fixed order.
inline constexpr std::size_t kPartialSums = 8;

inline double add_up(const double (&s)[kPartialSums]) {
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

}  // namespace porter

/// In front of a lambda's body.
#define PORTER_INLINE __attribute__((always_inline))
