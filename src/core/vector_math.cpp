// SPDX-License-Identifier: Apache-2.0
#include "core/vector_math.hpp"

#include <cassert>
#include <cmath>

#include "core/vectors.hpp"

namespace porter {
namespace {

template <class Term>
double interleaved_sum(std::size_t n, Term term) {
  double sums[kPartialSums] = {};
  with_vectors([&]<Width>() PORTER_INLINE {
    double partial[kPartialSums] = {};
    std::size_t i = 0;
    for (; i + kPartialSums <= n; i += kPartialSums)
      for (std::size_t lane = 0; lane < kPartialSums; ++lane) partial[lane] += term(i + lane);
    for (; i < n; ++i) partial[i % kPartialSums] += term(i);
    for (std::size_t lane = 0; lane < kPartialSums; ++lane) sums[lane] = partial[lane];
  });
  return add_up(sums);
}

}  // namespace

double dot(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  const double *p = a.data(), *q = b.data();
  return interleaved_sum(a.size(), [=](std::size_t i) PORTER_INLINE { return p[i] * q[i]; });
}

double dot(std::span<const float> a, std::span<const float> b) {
  assert(a.size() == b.size());
  const float *p = a.data(), *q = b.data();
  return interleaved_sum(a.size(),
                         [=](std::size_t i) PORTER_INLINE { return double{p[i]} * double{q[i]}; });
}

double squared_norm(std::span<const double> x) { return dot(x, x); }
double squared_norm(std::span<const float> x) { return dot(x, x); }

double squared_distance(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  const double *p = a.data(), *q = b.data();
  return interleaved_sum(
      a.size(), [=](std::size_t i) PORTER_INLINE { return (p[i] - q[i]) * (p[i] - q[i]); });
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
