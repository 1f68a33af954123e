// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace porter {

/// The exact interval of a probability from k hits in n trials (Clopper, Pearson: The Use of
/// Confidence or Fiducial Limits; Biometrika 1934), one side: the truth is below (above) the bound
/// with probability at most alpha.
double clopper_pearson_lower(std::uint64_t k, std::uint64_t n, double alpha);
double clopper_pearson_upper(std::uint64_t k, std::uint64_t n, double alpha);

/// I_x(a, b), the distribution function of Beta(a, b).
double incomplete_beta(double a, double b, double x);

/// The z with P(|N(0,1)| > z) = alpha.
double two_sided_quantile(double alpha);

/// How many standard deviations a chi-square sum of `freedom` squares is from its mean, after the
/// cube root of Wilson and Hilferty, which makes it normal to 1e-3 from 100 degrees on.
double chi_square_deviation(double sum, double freedom);

/// A lower bound on epsilon from the scores of an attacker.
struct EpsilonBound {
  double epsilon = 0;
  bool above = true;  ///< the test: score > threshold says D; else score < it says D'
  double threshold = 0;
  std::uint64_t hits = 0;          ///< of `trials` where the test is right
  std::uint64_t false_alarms = 0;  ///< of `trials` where it is wrong
  std::uint64_t trials = 0;
};

/// (epsilon, delta)-DP means  P(test | D) <= exp(epsilon) P(test | D') + delta  for every test,
/// both ways round. The test is chosen on the first half of the runs and measured on the second, so
/// the bound holds with probability `confidence`, whatever the choice.
EpsilonBound epsilon_lower_bound(std::span<const double> scores_with,
                                 std::span<const double> scores_without, double delta,
                                 double confidence);

}  // namespace porter
