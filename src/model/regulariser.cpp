// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "core/vectors.hpp"
#include "terms.hpp"

namespace porter {
namespace {

constexpr double kOverflow = std::numeric_limits<double>::infinity();

}  // namespace

double regulariser(double lambda, std::span<const double> x, std::span<double> gradient,
                   double weight) {
  if (lambda == 0) return 0;
  double sums[kPartialSums] = {};
  const double scale = weight * lambda * 2;
  with_vectors([&, in = x.data(), out = gradient.data()]<Width>() PORTER_INLINE {
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      const double q = 1 + in[j] * in[j];
      out[j] += scale * in[j] / (q * q);
    }
    double partial[kPartialSums] = {};
    const auto term = [&](std::size_t j) PORTER_INLINE {
      const double square = in[j] * in[j];
      // Where squares overflow: 1, or NaN of an infinite entry.
      partial[j % kPartialSums] += square < kOverflow ? square / (1 + square) : 1 + (in[j] - in[j]);
    };
    std::size_t j = 0;
    for (; j + kPartialSums <= x.size(); j += kPartialSums)
      for (std::size_t lane = 0; lane < kPartialSums; ++lane) term(j + lane);
    for (; j < x.size(); ++j) term(j);
    for (std::size_t lane = 0; lane < kPartialSums; ++lane) sums[lane] = partial[lane];
  });
  return lambda * add_up(sums);
}

void regulariser_gradient(double lambda, std::span<const double> x, std::span<double> gradient) {
  const double scale = lambda * 2;
  with_vectors([&, in = x.data(), out = gradient.data()]<Width>() PORTER_INLINE {
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      const double q = 1 + in[j] * in[j];
      out[j] = scale * in[j] / (q * q);
    }
  });
}

}  // namespace porter
