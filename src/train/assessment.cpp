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
};

double share(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<ClassScores> scores_of(const std::vector<std::vector<std::size_t>>& confusion) {
  std::vector<ClassScores> all(confusion.size());
  for (std::size_t c = 0; c < all.size(); ++c) {
    auto& scores = all[c];
    std::size_t called = 0;
    for (std::size_t other = 0; other < all.size(); ++other) {
      scores.records += confusion[c][other];
      called += confusion[other][c];
    }
    const auto right = confusion[c][c];
    if (called > 0) scores.precision = share(right, called);
    if (scores.records > 0) scores.recall = share(right, scores.records);
    if (called + scores.records > 0) scores.f1 = 2 * share(right, called + scores.records);
  }
  return all;
}

// Records with the same probability pass the threshold together.
void add_roc(std::vector<Scored> records, Assessment& result) {
  std::ranges::sort(records, std::greater(), &Scored::probability);
  const auto positives =
      static_cast<std::size_t>(std::ranges::count(records, true, &Scored::positive));
  const auto negatives = records.size() - positives;
  if (positives == 0 || negatives == 0) return;
  std::size_t seen_positives = 0, seen_negatives = 0;
  double area = 0;
  result.roc = {{0, 0}};
  for (std::size_t i = 0; i < records.size();) {
    const auto before = result.roc.back();
    const double threshold = records[i].probability;
    for (; i < records.size() && records[i].probability == threshold; ++i)
      ++(records[i].positive ? seen_positives : seen_negatives);
    const RocPoint now{share(seen_negatives, negatives), share(seen_positives, positives)};
    area += (now.false_positives - before.false_positives) *
            (now.true_positives + before.true_positives) / 2;
    result.roc.push_back(now);
  }
  result.auc = area;
}

void add_calibration(const std::vector<Scored>& records, Assessment& result) {
  struct Sums {
    std::size_t records = 0, positives = 0;
    double probabilities = 0;
  };
  std::vector<Sums> sums(kBins);
  for (const auto& [probability, positive] : records) {
    const auto bin = std::min(static_cast<std::size_t>(probability * kBins), kBins - 1);
    ++sums[bin].records;
    sums[bin].positives += positive ? 1U : 0U;
    sums[bin].probabilities += probability;
  }
  double error = 0;
  for (const auto& [count, positives, probabilities] : sums) {
    if (count == 0) continue;
    const CalibrationBin bin{count, probabilities / static_cast<double>(count),
                             share(positives, count)};
    error += share(count, records.size()) * std::abs(bin.predicted - bin.observed);
    result.calibration.push_back(bin);
  }
  if (!records.empty()) result.calibration_error = error;
}

}  // namespace

Assessment assess(const Model& model, const Dataset& data, std::span<const double> x) {
  const auto classes = data.classes.size();
  Assessment result;
  result.confusion.assign(classes, std::vector<std::size_t>(classes, 0));
  std::vector<Scored> scored;
  std::vector<double> probabilities(classes);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    if (data.is_void(row)) continue;
    const auto sample = data[row];
    const auto label = static_cast<std::size_t>(sample.label);
    ++result.confusion[label][static_cast<std::size_t>(model.predict(x, sample))];
    ++result.records;
    if (classes != 2) continue;
    model.probabilities(x, sample, probabilities);
    scored.push_back({probabilities[1], label == 1});
  }
  result.classes = scores_of(result.confusion);
  const bool ordered = std::ranges::none_of(
      scored, [](const Scored& record) { return std::isnan(record.probability); });
  if (classes == 2 && ordered) {
    add_calibration(scored, result);
    add_roc(std::move(scored), result);
  }
  return result;
}

}  // namespace porter
