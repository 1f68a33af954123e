// SPDX-License-Identifier: Apache-2.0
#include "porter/core/vector_math.hpp"

#include <array>
#include <cassert>
#include <cmath>

#include "porter/core/vector_clones.hpp"

namespace porter {
namespace {

constexpr std::size_t kLanes = 8;

template <class Term>
double interleaved_sum(std::size_t n, Term term) {
  std::array<double, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += term(i + lane);
  for (; i < n; ++i) sums[i % kLanes] += term(i);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace

double dot(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  return interleaved_sum(a.size(), [&](std::size_t i) { return a[i] * b[i]; });
}

double squared_norm(std::span<const double> x) { return dot(x, x); }

double squared_distance(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  return interleaved_sum(a.size(), [&](std::size_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
}

bool all_finite(std::span<const double> x) {
  for (const double value : x)
    if (!std::isfinite(value)) return false;
  return true;
}

void scale(double a, std::span<double> x) {
  if (a == 1) return;
  for (double& value : x) value *= a;
}

PORTER_VECTOR_CLONES
void scale_and_add(double a, double b, std::span<const float> x, std::span<double> y) {
  assert(x.size() == y.size());
  const float* __restrict from = x.data();
  double* __restrict to = y.data();
  const std::size_t size = y.size();
  for (std::size_t i = 0; i < size; ++i) to[i] = a * to[i] + b * static_cast<double>(from[i]);
}

void axpy(double a, std::span<const double> x, std::span<double> y) {
  assert(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += a * x[i];
}

}  // namespace porter
