// SPDX-License-Identifier: Apache-2.0
// Draws very many values of secure noise and holds them against the exact law:
//   noise_check [COUNT]      default 1e9, about 15 s
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "chi_square.hpp"
#include "privacy/secure_noise.hpp"

namespace {

constexpr double kStddev = 1.903, kSensitivity = 2;
constexpr std::size_t kDim = 50'890;
constexpr int kBinsPerStddev = 16, kReach = 7, kBins = 2 * kReach * kBinsPerStddev;

double below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

struct Statistics {
  std::uint64_t count = 0, off_grid = 0;
  double power[5] = {};  // sums of (x / stddev)^k
  double lag = 0, largest = 0;
  std::vector<std::uint64_t> bins = std::vector<std::uint64_t>(kBins);
  std::vector<std::uint64_t> residues = std::vector<std::uint64_t>(256);
  std::uint64_t beyond[8] = {};  // of |x| > k stddev

  // One vector at a time, so that the sums of sums lose nothing.
  void add(const std::vector<double>& values, double grid) {
    double sums[5] = {}, products = 0, previous = 0;
    for (const double value : values) {
      const double steps = value / grid;
      const auto integer = static_cast<std::int64_t>(steps);
      off_grid += static_cast<double>(integer) != steps;
      ++residues[static_cast<std::size_t>(integer & 255)];
      const double y = value / kStddev, size = std::abs(y);
      sums[1] += y;
      sums[2] += y * y;
      sums[3] += y * y * y;
      sums[4] += y * y * y * y;
      products += y * previous;
      previous = y;
      largest = std::max(largest, size);
      if (size < kReach)
        ++bins[static_cast<std::size_t>(std::floor((y + kReach) * kBinsPerStddev))];
      for (int k = 1; k < 8 && size > k; ++k) ++beyond[k];
    }
    for (int k = 1; k < 5; ++k) power[k] += sums[k];
    lag += products;
    count += values.size();
  }
};

void report_moment(const char* name, double value, double expected, double variance, double n) {
  std::printf("%-22s %+.8f  expected %+.1f, %+.2f standard errors\n", name, value, expected,
              (value - expected) / std::sqrt(variance / n));
}

void report(const Statistics& s, double grid) {
  const auto n = static_cast<double>(s.count);
  std::printf("values                 %.0f, standard deviation %g = %.6g grids of 2^%d\n", n,
              kStddev, kStddev / grid, std::ilogb(grid));
  std::printf("off the grid           %llu\n", static_cast<unsigned long long>(s.off_grid));
  report_moment("mean", s.power[1] / n, 0, 1, n);
  report_moment("second moment", s.power[2] / n, 1, 2, n);
  report_moment("third moment", s.power[3] / n, 0, 15, n);
  report_moment("fourth moment", s.power[4] / n, 3, 96, n);
  report_moment("lag-one correlation", s.lag / n, 0, 1, n);
  for (int k = 1; k < 8; ++k)
    std::printf("beyond %d sigma         %llu, expected %.4g\n", k,
                static_cast<unsigned long long>(s.beyond[k]), n * std::erfc(k / std::sqrt(2.0)));
  std::printf("largest                %.4f sigma\n", s.largest);
  std::vector<double> expected;
  for (int bin = 0; bin < kBins; ++bin) {
    const auto edge = [&](int i) {
      const double a = static_cast<double>(i) / kBinsPerStddev - kReach;
      return (std::ceil(a * kStddev / grid) - 0.5) * grid / kStddev;
    };
    expected.push_back(n * (below(edge(bin + 1)) - below(edge(bin))));
  }
  std::printf("chi-square of bins     %+.2f standard deviations\n",
              porter::chi_square_score(s.bins, expected));
  std::printf("chi-square of low byte %+.2f standard deviations\n",
              porter::chi_square_score(s.residues, std::vector<double>(256, n / 256)));
}

}  // namespace

int main(int argc, char** argv) {
  const double wanted = argc > 1 ? std::atof(argv[1]) : 1e9;
  const porter::SecureNoise mechanism(kStddev, kSensitivity, kDim);
  porter::NoiseStream noise;
  Statistics statistics;
  std::vector<double> g(kDim);
  double seconds = 0;
  while (static_cast<double>(statistics.count) < wanted) {
    std::fill(g.begin(), g.end(), 0.0);
    const auto start = std::chrono::steady_clock::now();
    mechanism.release(g, noise);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    statistics.add(g, mechanism.grid());
  }
  report(statistics, mechanism.grid());
  std::printf("time                   %.2f ns per value\n",
              1e9 * seconds / static_cast<double>(statistics.count));
  return statistics.off_grid == 0 ? 0 : 1;
}
