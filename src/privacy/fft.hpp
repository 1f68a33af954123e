// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/eigen.hpp"
// Eigen of our kind first.
#include <unsupported/Eigen/FFT>

namespace porter {

/// The discrete Fourier transform of real vectors of one length, which must be even.
class RealFft {
 public:
  explicit RealFft(std::size_t length) : length_(length) {
    assert(length % 4 == 0);
    fft_.SetFlag(Eigen::FFT<double>::HalfSpectrum);
  }

  /// The length / 2 + 1 coefficients of the non-negative frequencies.
  std::vector<std::complex<double>> forward(const std::vector<double>& values) {
    assert(values.size() == length_);
    std::vector<std::complex<double>> spectrum;
    fft_.fwd(spectrum, values);
    return spectrum;
  }

  /// The inverse, divided by the length.
  std::vector<double> inverse(const std::vector<std::complex<double>>& spectrum) {
    assert(spectrum.size() == length_ / 2 + 1);
    std::vector<double> values;
    fft_.inv(values, spectrum, static_cast<Eigen::Index>(length_));
    return values;
  }

  /// A bound on the relative rounding error of either transform: in the 2-norm over all
  /// frequencies, and for forward() also of each coefficient relative to the 1-norm of the values.
  /// docs/privacy.md, "Rounding", derives it.
  double relative_error() const {
    // A stage of radix 2, 4, 3 or 5 costs at most 7.9, 8.9, 16.5 or 26.4 units, so 11.4 for each
    // factor of 2 in the length; the step from complex to real costs 17, and a factor of sqrt(2) in
    // single coefficients.
    constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
    return 16 * kUnit * (std::log2(static_cast<double>(length_)) + 1);
  }

  /// The smallest length >= wanted whose only factors are 2 (at least twice), 3 and 5.
  static std::size_t good_length(std::size_t wanted) {
    std::size_t best = 4;
    while (best < wanted) best *= 2;
    for (std::size_t five = 4; five < best; five *= 5)
      for (std::size_t three = five; three < best; three *= 3) {
        std::size_t length = three;
        while (length < wanted) length *= 2;
        best = std::min(best, length);
      }
    return best;
  }

 private:
  std::size_t length_;
  Eigen::FFT<double> fft_;
};

}  // namespace porter
