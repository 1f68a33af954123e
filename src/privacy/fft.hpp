// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

namespace porter {

/// The discrete Fourier transform of real vectors of one length, which must be even.
class RealFft {
 public:
  explicit RealFft(std::size_t length);
  ~RealFft();

  /// The length / 2 + 1 coefficients of the non-negative frequencies.
  std::vector<std::complex<double>> forward(const std::vector<double>& values) const;
  /// The inverse, divided by the length.
  std::vector<double> inverse(const std::vector<std::complex<double>>& spectrum) const;

  /// A bound on the relative rounding error of either transform: in the 2-norm, and for forward()
  /// also for each coefficient relative to the 1-norm of the values. Higham, Accuracy and
  /// Stability of Numerical Algorithms, Theorem 24.2 has log2(n) (about 7 units of rounding);
  /// radices other than 2 and the step from complex to real are covered by taking 16.
  double relative_error() const;

  /// The smallest length >= wanted whose only factors are 2 (at least twice), 3 and 5.
  static std::size_t good_length(std::size_t wanted);

 private:
  struct Plan;
  std::size_t length_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace porter
