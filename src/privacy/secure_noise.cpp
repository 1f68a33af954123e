// SPDX-License-Identifier: Apache-2.0
#include "privacy/secure_noise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "core/vectors.hpp"
#include "porter/core/error.hpp"
#include "search.hpp"

namespace porter {
namespace {

constexpr double kRoundingShare = 0x1p-16;  // of the sensitivity, at the chosen grid
constexpr double kLargestShare = 1e-3;      // beyond which we refuse
constexpr double kStepsPerStddev = 0x1p10;  // at least
constexpr double kLargestRounded = 0x1p52;  // of |g| / grid; with 13 * 2^44 below 2^53
constexpr double kSmallestGrid = 0x1p-900, kLargestGrid = 0x1p900;
constexpr double kUp = 1 + 0x1p-50, kDown = 1 - 0x1p-50;  // more than the roundings of one formula

double power_of_two_below(double value) { return std::ldexp(1.0, std::ilogb(value)); }
double root(std::size_t dim) { return std::sqrt(static_cast<double>(dim)); }

// False for one that is not a number, too.
bool all_within(std::span<const double> x, double limit) {
  std::uint64_t outside = 0;
  with_vectors([&, p = x.data(), n = x.size()]<Width>() PORTER_INLINE {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < n; ++i) count += std::abs(p[i]) <= limit ? 0 : 1;
    outside = count;
  });
  return outside == 0;
}

// x <- grid (round(x / grid) + integers); but for the rounding all of it is exact.
void round_and_add(std::span<double> x, const double* integers, double grid) {
  with_vectors([=, p = x.data(), n = x.size(), scale = 1 / grid]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < n; ++i) p[i] = (std::nearbyint(p[i] * scale) + integers[i]) * grid;
  });
}

// The sum of what an agent adds is exact, and the law of all agents' sums is that of one discrete
// Gaussian of covariance S but for a factor of 1 +- 2^-138: its least variance left to the integers
// of the pairs, s^2 c^2 / (s^2 + c^2 l), l <= 2 most_pairs, is so large that Poisson summation sees
// no difference (docs/correlated-noise.md).
std::optional<DiscreteGaussian> shared_integers(double own, double grid,
                                                const SecureNoise::Shared& shared) {
  constexpr double kLeastVariance = 16, kLargestSum = 0x1p52;
  if (shared.stddev == 0) return std::nullopt;
  const double s = own / grid, c = shared.stddev / grid,
               most = static_cast<double>(shared.most_pairs);
  const double variance = c / (s * s + 2 * most * (c * c)) * s * s * c;
  require(c >= 1 && c <= DiscreteGaussian::kLargest && variance >= kLeastVariance &&
              DiscreteGaussian::kCut * (s + most * c) <= kLargestSum,
          ErrorKind::privacy, "secure noise: the grid of ", grid, " does not suit shared noise of ",
          "standard deviation ", shared.stddev, " beside one's own of ", own, " and ",
          shared.most_pairs, " pairs of an agent");
  return DiscreteGaussian(c);
}

}  // namespace

double sensitivity_with_rounding(double sensitivity, double grid, std::size_t dim) {
  return (sensitivity + root(dim) * grid) * kUp;
}

// A sum of n terms, each a rounded product, in any order: |error| <= gamma |w| sum |x|, coordinate
// by coordinate, gamma = (n + 2) u / (1 - (n + 2) u), u = 2^-53 (Higham: Accuracy and Stability of
// Numerical Algorithms, section 4.2). Vectors of absolute values are as long as the vectors.
double averaging_error(double clip, std::size_t terms, std::size_t divisor) {
  const double n = static_cast<double>(terms);
  const double roundings = (n + 2) * 0x1p-53;
  return roundings / (1 - roundings) * n / static_cast<double>(divisor) * clip * kUp;
}

double choose_grid(double stddev, double sensitivity, std::size_t dim) {
  require(positive(stddev), ErrorKind::usage,
          "secure noise: the standard deviation must be positive, found ", stddev);
  require(positive(sensitivity), ErrorKind::usage,
          "secure noise: the sensitivity must be positive, found ", sensitivity);
  require(dim > 0, ErrorKind::usage, "secure noise: the dimension must be positive, found 0");
  const double wanted =
      std::min(sensitivity * kRoundingShare / root(dim), stddev / kStepsPerStddev);
  double grid = power_of_two_below(std::max(wanted, kSmallestGrid));
  while (stddev / grid > DiscreteGaussian::kLargest) grid *= 2;
  require(grid >= kSmallestGrid && grid <= kLargestGrid &&
              root(dim) * grid < kLargestShare * sensitivity && grid * kStepsPerStddev <= stddev,
          ErrorKind::privacy, "secure noise: no grid fits standard deviation ", stddev,
          ", sensitivity ", sensitivity, " and ", dim, " coordinates");
  return grid;
}

double delta_with_distance(double epsilon, double delta, double distance) {
  return (delta + (1 + std::exp(epsilon)) * distance) * kUp;
}

// The norm by which a vector is clipped is the root of a sum of squares that may be too small by
// dim + 2 units of rounding, so the clipped vector too long by half of that.
SecureNoise::SecureNoise(double stddev, double sensitivity, std::size_t dim, const Shared& shared)
    : stddev_(stddev),
      sensitivity_(sensitivity * (1 + static_cast<double>(dim) * 0x1p-52)),
      dim_(dim),
      grid_(choose_grid(stddev, sensitivity_, dim)),
      integers_(stddev / grid_),
      shared_(shared_integers(stddev, grid_, shared)),
      vectors_(shared.vectors) {}

// Both ends of a pair draw in parts of the same size: what is drawn depends on it.
template <class Add>
void SecureNoise::draw_shared(NoiseStream& noise, const Add& add) const {
  require(shared_.has_value(), ErrorKind::privacy, "secure noise: none was made to be shared");
  std::array<double, 256> integers;
  for (std::size_t first = 0; first < dim_; first += integers.size()) {
    const auto part = std::span(integers).first(std::min(dim_ - first, integers.size()));
    shared_->fill(noise, part);
    for (std::size_t i = 0; i < part.size(); ++i) add(first + i, part[i]);
  }
}

void SecureNoise::share(std::span<double> lower, std::span<double> higher,
                        NoiseStream& noise) const {
  draw_shared(noise, [&](std::size_t j, double v) {
    lower[j] += v;
    higher[j] -= v;
  });
}

void SecureNoise::share_end(std::span<double> steps, double sign, NoiseStream& noise) const {
  draw_shared(noise, [&](std::size_t j, double v) { steps[j] += sign * v; });
}

void SecureNoise::release(std::span<double> g, NoiseStream& noise,
                          std::span<const double> shared) const {
  require(g.size() == dim_, ErrorKind::privacy, "secure noise: made for ", dim_,
          " coordinates, found ", g.size());
  require(shared.size() == (shared_ ? dim_ : 0), ErrorKind::privacy,
          "secure noise: expected shared steps of ", shared_ ? dim_ : 0, " coordinates, found ",
          shared.size());
  require(all_within(g, kLargestRounded * grid_), ErrorKind::privacy,
          "secure noise: a coordinate of the clipped mean is not finite or too large");
  std::array<double, 256> integers;
  while (!g.empty()) {
    const auto part = g.first(std::min(g.size(), integers.size()));
    integers_.fill(noise, std::span(integers).first(part.size()));
    if (shared_) {
      for (std::size_t i = 0; i < part.size(); ++i) integers[i] += shared[i];
      shared = shared.subspan(part.size());
    }
    round_and_add(part, integers.data(), grid_);
    g = g.subspan(part.size());
  }
}

// The continuous mechanism that covers ours. Let Y be Gaussian around the integer n with variance
// s^2 - 5, and let Z be a discrete Gaussian with parameter sqrt(5) around Y: a randomised rounding,
// so Z is post-processing of the continuous mechanism, in any dimension and for any sampler. By
// Poisson summation the normaliser  sum_z exp(-(z - y)^2 / 10)  is the same for all y up to a
// factor of 1 +- 2.1 exp(-10 pi^2), so P(Z = z) is exp(-(z - n)^2 / (2 s^2)) up to normalisation
// and a factor of 1 +- 2^-139 (compare Peikert: An Efficient and Parallel Gaussian Sampler for
// Lattices; CRYPTO 2010, theorem 3.1). That is our law: what holds for standard deviation sqrt(s^2
// - 5) holds for it.
double SecureNoise::accounted_stddev() const {
  const double s = integers_.parameter();
  return stddev_ * std::sqrt(1 - 5 / (s * s)) * kDown;
}

double SecureNoise::accounted_sensitivity() const {
  return sensitivity_with_rounding(sensitivity_, grid_, dim_);
}

double SecureNoise::statistical_distance() const {
  constexpr double kContinuous = 0x1p-138;
  return static_cast<double>(dim_) * static_cast<double>(vectors_) *
         (DiscreteGaussian::statistical_distance() + kContinuous) * kUp;
}

}  // namespace porter
