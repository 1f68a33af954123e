// SPDX-License-Identifier: Apache-2.0
#include "train/assessment.hpp"

#include <algorithm>
#include <cmath>

namespace porter {
namespace {

constexpr std::size_t kBins = 10;

// The probability of the second class, and whether the record is of it.
struct Scored {
  double probability;
  bool positive;
  double weight;
};

// By class and prediction, the weights of records.
using Weights = std::vector<std::vector<double>>;

std::vector<ClassScores> scores_of(const Weights& weights,
                                   const std::vector<std::vector<std::size_t>>& confusion) {
  std::vector<ClassScores> all(weights.size());
  for (std::size_t c = 0; c < all.size(); ++c) {
    auto& scores = all[c];
    double called = 0, own = 0;
    for (std::size_t other = 0; other < all.size(); ++other) {
      scores.records += confusion[c][other];
      own += weights[c][other];
      called += weights[other][c];
    }
    const double right = weights[c][c];
    if (called > 0) scores.precision = right / called;
    if (own > 0) scores.recall = right / own;
    if (called + own > 0) scores.f1 = 2 * (right / (called + own));
  }
  return all;
}

// Records with the same probability pass the threshold together.
void add_roc(std::vector<Scored> records, Assessment& result) {
  std::ranges::sort(records, std::greater(), &Scored::probability);
  double positives = 0, negatives = 0;
  for (const auto& record : records) (record.positive ? positives : negatives) += record.weight;
  if (positives == 0 || negatives == 0) return;
  double seen_positives = 0, seen_negatives = 0, area = 0;
  result.roc = {{0, 0}};
  for (std::size_t i = 0; i < records.size();) {
    const auto before = result.roc.back();
    const double threshold = records[i].probability;
    for (; i < records.size() && records[i].probability == threshold; ++i)
      (records[i].positive ? seen_positives : seen_negatives) += records[i].weight;
    const RocPoint now{seen_negatives / negatives, seen_positives / positives};
    area += (now.false_positives - before.false_positives) *
            (now.true_positives + before.true_positives) / 2;
    result.roc.push_back(now);
  }
  result.auc = area;
}

void add_calibration(const std::vector<Scored>& records, Assessment& result) {
  struct Sums {
    std::size_t records = 0;
    double weight = 0, positives = 0, probabilities = 0;
  };
  std::vector<Sums> sums(kBins);
  double all = 0;
  for (const auto& [probability, positive, weight] : records) {
    auto& sum = sums[std::min(static_cast<std::size_t>(probability * kBins), kBins - 1)];
    ++sum.records;
    sum.weight += weight;
    sum.positives += positive ? weight : 0;
    sum.probabilities += weight * probability;
    all += weight;
  }
  double error = 0;
  for (const auto& [count, weight, positives, probabilities] : sums) {
    if (weight == 0) continue;
    const CalibrationBin bin{count, probabilities / weight, positives / weight};
    error += weight / all * std::abs(bin.predicted - bin.observed);
    result.calibration.push_back(bin);
  }
  if (all > 0) result.calibration_error = error;
}

}  // namespace

Assessment assess(const Model& model, const Dataset& data, std::span<const double> x) {
  const auto classes = data.classes.size();
  Assessment result;
  result.confusion.assign(classes, std::vector<std::size_t>(classes, 0));
  Weights weights(classes, std::vector<double>(classes, 0));
  std::vector<Scored> scored;
  std::vector<double> probabilities(classes);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    if (data.is_void(row)) continue;
    const auto sample = data[row];
    const auto label = static_cast<std::size_t>(sample.label);
    const auto predicted = static_cast<std::size_t>(model.predict(x, sample));
    ++result.confusion[label][predicted];
    weights[label][predicted] += data.weight(row);
    ++result.records;
    if (classes != 2) continue;
    model.probabilities(x, sample, probabilities);
    scored.push_back({probabilities[1], label == 1, data.weight(row)});
  }
  result.classes = scores_of(weights, result.confusion);
  const bool ordered = std::ranges::none_of(
      scored, [](const Scored& record) { return std::isnan(record.probability); });
  if (classes == 2 && ordered) {
    add_calibration(scored, result);
    add_roc(std::move(scored), result);
  }
  return result;
}

}  // namespace porter
