// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

namespace porter {

/// The discrete Fourier transform of real vectors of one length, which is a multiple of four.
class RealFft {
 public:
  explicit RealFft(std::size_t length);
  ~RealFft();

  /// The length / 2 + 1 coefficients of the non-negative frequencies.
  std::vector<std::complex<double>> forward(const std::vector<double>& values);
  /// The inverse, divided by the length.
  std::vector<double> inverse(const std::vector<std::complex<double>>& spectrum);

  /// A bound on the relative rounding error of either transform: in the 2-norm over all
  /// frequencies, and for forward() also of each coefficient relative to the 1-norm of the values.
  /// docs/privacy.md, "Rounding", derives it.
  double relative_error() const;

  /// The smallest length >= wanted whose only factors are 2 (at least twice), 3 and 5.
  static std::size_t good_length(std::size_t wanted);

 private:
  struct Plan;  // Eigen's, which takes long to compile
  std::size_t length_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace porter
