// SPDX-License-Identifier: Apache-2.0
#include "core/vector_math.hpp"

#include <cassert>
#include <cmath>
#include <cstring>

#include "core/vectors.hpp"

namespace porter {
namespace {

template <std::size_t lanes>
PORTER_INLINE inline void load(const double* from, Register<double, lanes>& to) {
  std::memcpy(&to, from, sizeof to);
}

template <std::size_t lanes>
PORTER_INLINE inline void load(const float* from, Register<double, lanes>& to) {
  Register<float, lanes> narrow;
  std::memcpy(&narrow, from, sizeof narrow);
  to = __builtin_convertvector(narrow, Register<double, lanes>);
}

// The same sum of fewer than two terms for each partial sum: the way to the vectors would take
// longer. Unrolled, so that the sums are registers.
template <class Term>
double short_sum(std::size_t n, const Term& term) {
  double sums[kPartialSums];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kPartialSums; ++i) {
    Register<double, 1> one;
    sums[i] = 0;
    if (i < n) {
      term.template operator()<1>(i, one);
      sums[i] += one[0];
    }
    if (i + kPartialSums < n) {
      term.template operator()<1>(i + kPartialSums, one);
      sums[i] += one[0];
    }
  }
  return add_up(sums);
}

// term<lanes>(i, out): the terms from number i on. The partial sums are registers by order: GCC
// turns loops over arrays of them inside out and spends more on shuffling than on sums.
template <class Term>
double interleaved_sum(std::size_t n, const Term& term) {
  if (n < 2 * kPartialSums) return short_sum(n, term);
  double sums[kPartialSums];
  with_vectors([&]<Width width>() PORTER_INLINE {
    constexpr std::size_t kWidth = width, kRegisters = kPartialSums / kWidth;
    Register<double, kWidth> partial[kRegisters] = {};
    std::size_t i = 0;
    for (; i + kPartialSums <= n; i += kPartialSums)
      for (std::size_t r = 0; r < kRegisters; ++r) {
        Register<double, kWidth> terms;
        term.template operator()<kWidth>(i + r * kWidth, terms);
        partial[r] += terms;
      }
    std::memcpy(sums, partial, sizeof sums);
    for (; i < n; ++i) {
      Register<double, 1> last;
      term.template operator()<1>(i, last);
      sums[i % kPartialSums] += last[0];
    }
  });
  return add_up(sums);
}

// The sum of a[i] b[i], in double.
template <class Real>
double product_sum(std::span<const Real> a, std::span<const Real> b) {
  assert(a.size() == b.size());
  return interleaved_sum(a.size(),
                         [p = a.data(), q = b.data()]<std::size_t lanes>(
                             std::size_t i, Register<double, lanes>& product) PORTER_INLINE {
                           Register<double, lanes> other;
                           load<lanes>(p + i, product);
                           load<lanes>(q + i, other);
                           product *= other;
                         });
}

}  // namespace

double dot(std::span<const double> a, std::span<const double> b) { return product_sum(a, b); }
double dot(std::span<const float> a, std::span<const float> b) { return product_sum(a, b); }

double squared_norm(std::span<const double> x) { return dot(x, x); }
double squared_norm(std::span<const float> x) { return dot(x, x); }

double squared_distance(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  return interleaved_sum(a.size(),
                         [p = a.data(), q = b.data()]<std::size_t lanes>(
                             std::size_t i, Register<double, lanes>& square) PORTER_INLINE {
                           Register<double, lanes> other;
                           load<lanes>(p + i, square);
                           load<lanes>(q + i, other);
                           square -= other;
                           square *= square;
                         });
}

bool all_finite(std::span<const double> x) {
  for (const double value : x)
    if (!std::isfinite(value)) return false;
  return true;
}

void axpy(double a, std::span<const double> x, std::span<double> y) {
  assert(x.size() == y.size());
  const double* p = x.data();
  double* q = y.data();
  with_vectors([=, n = x.size()]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < n; ++i) q[i] += a * p[i];
  });
}

void axpy(double a, std::span<const float> x, std::span<double> y) {
  assert(x.size() == y.size());
  const float* p = x.data();
  double* q = y.data();
  with_vectors([=, n = x.size()]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < n; ++i) q[i] += a * double{p[i]};
  });
}

void axpy(float a, std::span<const float> x, std::span<float> y) {
  assert(x.size() == y.size());
  const float* p = x.data();
  float* q = y.data();
  with_vectors([=, n = x.size()]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < n; ++i) q[i] += a * p[i];
  });
}

void scale(double a, std::span<double> x) {
  if (a == 1) return;
  double* p = x.data();
  with_vectors([=, n = x.size()]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < n; ++i) p[i] *= a;
  });
}

void scale_and_add(double a, double b, std::span<const float> x, std::span<double> y) {
  assert(x.size() == y.size());
  const float* p = x.data();
  double* q = y.data();
  with_vectors([=, n = x.size()]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < n; ++i) q[i] = a * q[i] + b * double{p[i]};
  });
}

void scaled_copy(double a, std::span<const double> x, std::span<double> y) {
  assert(x.size() == y.size());
  const double* p = x.data();
  double* q = y.data();
  with_vectors([=, n = x.size()]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < n; ++i) q[i] = a * p[i];
  });
}

void scaled_copy(double a, std::span<const double> x, std::span<float> y) {
  assert(x.size() == y.size());
  const double* p = x.data();
  float* q = y.data();
  with_vectors([=, n = x.size()]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < n; ++i) q[i] = static_cast<float>(a * p[i]);
  });
}

void scaled_copy(float a, std::span<const float> x, std::span<float> y) {
  assert(x.size() == y.size());
  const float* p = x.data();
  float* q = y.data();
  with_vectors([=, n = x.size()]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < n; ++i) q[i] = a * p[i];
  });
}

void widen(std::span<const float> x, std::span<double> y) {
  assert(x.size() == y.size());
  const float* p = x.data();
  double* q = y.data();
  with_vectors([=, n = x.size()]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < n; ++i) q[i] = double{p[i]};
  });
}

}  // namespace porter
