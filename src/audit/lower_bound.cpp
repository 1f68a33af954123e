// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "audit/statistics.hpp"

namespace porter {
namespace {

using Scores = std::vector<double>;

struct Halves {
  Scores with, without;  // sorted
};

// Larger scores speak for D. Where the test is for D' instead, the scores change sign and the
// data sets places.
Halves sorted_half(std::span<const double> with, std::span<const double> without, bool first,
                   bool above) {
  const auto half = [&](std::span<const double> scores) {
    const auto middle = scores.size() / 2;
    const auto part = first ? scores.first(middle) : scores.subspan(middle);
    Scores copy(part.begin(), part.end());
    if (!above)
      for (double& score : copy) score = -score;
    std::sort(copy.begin(), copy.end());
    return copy;
  };
  if (above) return {half(with), half(without)};
  return {half(without), half(with)};
}

std::uint64_t count_above(const Scores& sorted, double threshold) {
  return static_cast<std::uint64_t>(sorted.end() -
                                    std::upper_bound(sorted.begin(), sorted.end(), threshold));
}

// epsilon >= log((P(hit) - delta) / P(false alarm)), each probability at half of the error.
EpsilonBound bound_at(const Halves& halves, double threshold, double delta, double confidence) {
  EpsilonBound bound{.threshold = threshold,
                     .hits = count_above(halves.with, threshold),
                     .false_alarms = count_above(halves.without, threshold),
                     .trials = std::min(halves.with.size(), halves.without.size())};
  const double alpha = (1 - confidence) / 2;
  const double hit = clopper_pearson_lower(bound.hits, halves.with.size(), alpha) - delta;
  const double alarm = clopper_pearson_upper(bound.false_alarms, halves.without.size(), alpha);
  bound.epsilon = hit > alarm ? std::log(hit / alarm) : 0;
  return bound;
}

// Order statistics of both samples, dense where few scores are left.
Scores candidates(const Halves& halves) {
  Scores thresholds;
  for (const Scores* scores : {&halves.with, &halves.without}) {
    const std::size_t n = scores->size();
    for (std::size_t k = 0; k < n; k += 1 + k / 16) {
      thresholds.push_back((*scores)[n - 1 - k]);
      thresholds.push_back((*scores)[k]);
    }
  }
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  return thresholds;
}

// A threshold stands halfway between scores: where the samples do not overlap, far from both.
EpsilonBound best_test(const Halves& halves, double delta, double confidence) {
  const auto thresholds = candidates(halves);
  EpsilonBound best;
  best.epsilon = -1;
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const double next = thresholds[std::min(i + 1, thresholds.size() - 1)];
    const double middle = thresholds[i] + (next - thresholds[i]) / 2;
    const auto bound = bound_at(halves, middle, delta, confidence);
    if (bound.epsilon > best.epsilon) best = bound;
  }
  return best;
}

}  // namespace

EpsilonBound epsilon_lower_bound(std::span<const double> scores_with,
                                 std::span<const double> scores_without, double delta,
                                 double confidence) {
  EpsilonBound chosen;
  chosen.epsilon = -1;
  for (const bool above : {true, false}) {
    auto test = best_test(sorted_half(scores_with, scores_without, true, above), delta, confidence);
    test.above = above;
    if (test.epsilon > chosen.epsilon) chosen = test;
  }
  const auto held_out = sorted_half(scores_with, scores_without, false, chosen.above);
  auto bound = bound_at(held_out, chosen.threshold, delta, confidence);
  bound.above = chosen.above;
  if (!bound.above) bound.threshold = -bound.threshold;
  return bound;
}

}  // namespace porter
