// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/pair_noise.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr double kMostWork = 1e8;       // multiplications for one ratio
constexpr double kBelow = 1 - 0x1p-49;  // more than the roundings of one formula

// How many pairs each agent is in.
std::vector<std::size_t> pair_counts(const NoisePairs& pairs) {
  std::vector<std::size_t> counts(pairs.agents, 0);
  for (const auto& [i, j] : pairs.pairs) ++counts[i], ++counts[j];
  return counts;
}

// M = I + x L of the honest agents, dense and row-major.
struct HonestMatrix {
  std::size_t size = 0;
  std::vector<double> entries;
  double largest_row = 1;  // sum of absolute values

  double& at(std::size_t i, std::size_t j) { return entries[i * size + j]; }
  double at(std::size_t i, std::size_t j) const { return entries[i * size + j]; }
};

HonestMatrix honest_matrix(const NoisePairs& pairs, double x, std::span<const char> colludes) {
  std::vector<std::size_t> position(pairs.agents);
  HonestMatrix M;
  for (std::size_t i = 0; i < pairs.agents; ++i)
    if (!colludes[i]) position[i] = M.size++;
  M.entries.assign(M.size * M.size, 0.0);
  for (std::size_t i = 0; i < M.size; ++i) M.at(i, i) = 1;
  for (const auto& [a, b] : pairs.pairs) {
    if (colludes[a] || colludes[b]) continue;
    const auto i = position[a], j = position[b];
    M.at(i, i) += x, M.at(j, j) += x;
    M.at(i, j) = M.at(j, i) = -x;
  }
  for (std::size_t i = 0; i < M.size; ++i) M.largest_row = std::max(M.largest_row, 2 * M.at(i, i));
  return M;
}

// The lower triangle becomes C with M = C C^T.
void factorise(HonestMatrix& M) {
  for (std::size_t j = 0; j < M.size; ++j) {
    for (std::size_t i = j; i < M.size; ++i) {
      double sum = M.at(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= M.at(i, k) * M.at(j, k);
      M.at(i, j) = i == j ? std::sqrt(sum) : sum / M.at(j, j);
    }
  }
}

// y <- M^-1 y from its factor, nearly.
void solve(const HonestMatrix& C, std::vector<double>& y) {
  for (std::size_t i = 0; i < C.size; ++i) {
    for (std::size_t k = 0; k < i; ++k) y[i] -= C.at(i, k) * y[k];
    y[i] /= C.at(i, i);
  }
  for (std::size_t i = C.size; i-- > 0;) {
    for (std::size_t k = i + 1; k < C.size; ++k) y[i] -= C.at(k, i) * y[k];
    y[i] /= C.at(i, i);
  }
}

// |e_i - M y| in the largest entry, with what its own rounding may hide.
double residual(const HonestMatrix& M, std::size_t i, const std::vector<double>& y) {
  double worst = 0, largest = 1;
  for (std::size_t r = 0; r < M.size; ++r) {
    double sum = r == i ? 1 : 0;
    for (std::size_t k = 0; k < M.size; ++k) sum -= M.at(r, k) * y[k];
    worst = std::max(worst, std::abs(sum));
    largest = std::max(largest, std::abs(y[r]));
  }
  return worst + static_cast<double>(M.size + 4) * 0x1p-52 * M.largest_row * largest;
}

// The largest (M^-1)_ii, or a little more. Rows of M sum to 1 and nothing off its diagonal is
// positive, so M^-1 has no negative entry and rows that sum to 1: what y misses in M y = e_i moves
// it by no more than itself.
double largest_diagonal(const HonestMatrix& M) {
  auto C = M;
  factorise(C);
  double largest = 0;
  for (std::size_t i = 0; i < M.size; ++i) {
    std::vector<double> y(M.size, 0.0);
    y[i] = 1;
    solve(C, y);
    const double bound = y[i] + residual(M, i, y);
    largest = std::max(largest, bound <= 1 ? bound : 1.0);  // 1 is always a bound; NaN gives it
  }
  return largest;
}

double number_of_sets(std::size_t agents, std::size_t colluders) {
  double sets = 1;
  for (std::size_t i = 0; i < colluders; ++i)
    sets = sets * static_cast<double>(agents - i) / static_cast<double>(i + 1);
  return sets;
}

// gain^2 of the worst agent over all sets of exactly so many colluders.
double enumerated_gain(const NoisePairs& pairs, double x, std::size_t colluders) {
  std::vector<char> colludes(pairs.agents, 0);
  std::fill(colludes.begin(), colludes.begin() + static_cast<std::ptrdiff_t>(colluders), 1);
  double largest = 0;
  do {
    largest = std::max(largest, largest_diagonal(honest_matrix(pairs, x, colludes)));
  } while (std::ranges::prev_permutation(colludes).found);
  return 1 / largest;
}

// gain^2 by the links of an agent alone: the neighbours' other links can only help it.
double gain_by_degrees(const NoisePairs& pairs, double x, std::size_t colluders) {
  const std::size_t least = std::ranges::min(pair_counts(pairs));
  const std::size_t left = least - std::min(least, colluders);
  return 1 + static_cast<double>(left) * (x / (1 + x));
}

void check_pairs(const NoisePairs& pairs, double ratio, std::size_t colluders) {
  require(ratio >= 0 && ratio <= kLargestPairRatio, ErrorKind::usage,
          "expected a ratio of shared to own noise from 0 to ", kLargestPairRatio, ", found ",
          ratio);
  require(colluders < pairs.agents, ErrorKind::usage, "expected fewer colluders than the ",
          pairs.agents, " agents, found ", colluders);
  for (const auto& [i, j] : pairs.pairs)
    require(i < j && j < pairs.agents, ErrorKind::usage, "expected pairs i < j of agents below ",
            pairs.agents, ", found ", i, " and ", j);
}

}  // namespace

std::size_t most_pairs(const NoisePairs& pairs) { return std::ranges::max(pair_counts(pairs)); }

PairWorth pair_worth(const NoisePairs& pairs, double ratio, std::size_t colluders) {
  check_pairs(pairs, ratio, colluders);
  const double x = ratio * ratio;
  const double honest = static_cast<double>(pairs.agents - colluders);
  const bool affordable =
      number_of_sets(pairs.agents, colluders) * honest * honest * honest <= kMostWork;
  double square = gain_by_degrees(pairs, x, colluders);
  if (affordable) square = std::max(square, enumerated_gain(pairs, x, colluders));
  return {.gain = std::max(1.0, std::sqrt(square) * kBelow), .enumerated = affordable};
}

double best_pair_ratio(const NoisePairs& pairs, std::size_t colluders, const PairCost& cost) {
  constexpr double kQuarters[] = {1, 0x1.306fe0a31b715p0, 0x1.6a09e667f3bcdp0, 0x1.ae89f995ad3adp0};
  constexpr int kLowest = -4, kHighest = 6;  // powers of two
  double best = 0, least = cost.own;
  for (int step = 4 * kLowest; step <= 4 * kHighest; ++step) {
    const int quarter = (step % 4 + 4) % 4;
    const double ratio = std::ldexp(kQuarters[quarter], (step - quarter) / 4);
    const double gain = pair_worth(pairs, ratio, colluders).gain;
    const double now = (cost.own + cost.shared * (ratio * ratio)) / (gain * gain);
    if (!(now < least)) break;
    best = ratio, least = now;
  }
  return best;
}

}  // namespace porter
