// SPDX-License-Identifier: Apache-2.0
// Vector code that is written once, compiled per instruction set and chosen when it is called. The
// bits do not depend on the choice: products and sums are rounded apart (-ffp-contract=off), and
// their order is written out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device.hpp"
#include "core/simd.hpp"

namespace porter {

/// How many doubles a register holds. Kernels take the number from here alone, so that what is
/// compiled for the widest registers also runs where they are made up from narrower ones.
struct Width {
  std::size_t lanes;
  bool made_up = false;
  constexpr operator std::size_t() const { return lanes; }
};

/// `lanes` numbers that the compiler keeps in one register.
template <class Number, std::size_t lanes>
struct RegisterOf {
  typedef Number Vector __attribute__((vector_size(lanes * sizeof(Number))));
};
template <class Number, std::size_t lanes>
using Register = typename RegisterOf<Number, lanes>::Vector;

namespace detail {

// In registers: what is written through pointers cannot change the copy of the work.
#if defined(__x86_64__)
#if defined(__clang__)
#define PORTER_AVX512 __attribute__((target("arch=x86-64-v4"), min_vector_width(512)))
#else
#define PORTER_AVX512 __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#endif
template <class Work>
PORTER_AVX512 auto run_avx512(const Work& work) {
  const Work own = work;
  return own.template operator()<Width{8}>();
}
template <class Work>
__attribute__((target("arch=x86-64-v3"))) auto run_avx2(const Work& work) {
  const Work own = work;
  return own.template operator()<Width{4}>();
}
template <class Work>
__attribute__((target("arch=x86-64-v2"))) auto run_sse4(const Work& work) {
  const Work own = work;
  return own.template operator()<Width{2}>();
}
template <class Work>
__attribute__((target("ssse3"))) auto run_ssse3(const Work& work) {
  const Work own = work;
  return own.template operator()<Width{2}>();
}
#undef PORTER_AVX512
#endif

}  // namespace detail

/// What work.operator()<width>() returns, compiled for the instruction set in use (core/simd.hpp).
/// The work, and what it calls, must be PORTER_INLINE to be compiled for it, and pass registers by
/// reference alone: how they go by value depends on the instruction set.
template <class Work>
auto with_vectors(const Work& work) {
  switch (simd()) {
#if defined(__x86_64__)
    case Simd::avx512:
      return detail::run_avx512(work);
    case Simd::avx2:
      return detail::run_avx2(work);
    case Simd::sse4:
      return detail::run_sse4(work);
    case Simd::ssse3:
      return detail::run_ssse3(work);
#elif defined(__aarch64__)
    case Simd::neon:
      return work.template operator()<Width{2}>();
#endif
    case Simd::wide:
      return work.template operator()<Width{8, true}>();
    default:
      return work.template operator()<Width{1}>();
  }
}

/// Sums that run over vectors keep this many partial sums, whatever the width, in a fixed order.
inline constexpr std::size_t kPartialSums = 8;

inline double add_up(const double (&s)[kPartialSums]) {
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

}  // namespace porter
