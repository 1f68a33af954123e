// SPDX-License-Identifier: Apache-2.0
#include "fft.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/eigen.hpp"
// Eigen of our kind first.
#include <unsupported/Eigen/FFT>

namespace porter {

struct RealFft::Plan {
  Eigen::FFT<double> fft;
};

RealFft::RealFft(std::size_t length) : length_(length), plan_(std::make_unique<Plan>()) {
  assert(length % 4 == 0);
  plan_->fft.SetFlag(Eigen::FFT<double>::HalfSpectrum);
}

RealFft::~RealFft() = default;

std::vector<std::complex<double>> RealFft::forward(const std::vector<double>& values) {
  assert(values.size() == length_);
  std::vector<std::complex<double>> spectrum;
  plan_->fft.fwd(spectrum, values);
  return spectrum;
}

std::vector<double> RealFft::inverse(const std::vector<std::complex<double>>& spectrum) {
  assert(spectrum.size() == length_ / 2 + 1);
  std::vector<double> values;
  plan_->fft.inv(values, spectrum, static_cast<Eigen::Index>(length_));
  return values;
}

double RealFft::relative_error() const {
  // A stage of radix 2, 4, 3 or 5 costs at most 7.9, 8.9, 16.5 or 26.4 units, so 11.4 for each
  // factor of 2 in the length; the step from complex to real costs 17, and a factor of sqrt(2) in
  // single coefficients.
  constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
  return 16 * kUnit * (std::log2(static_cast<double>(length_)) + 1);
}

std::size_t RealFft::good_length(std::size_t wanted) {
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

}  // namespace porter
