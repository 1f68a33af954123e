// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <numeric>

#include "core/vector_math.hpp"
#include "porter/core/rng.hpp"
#include "sources.hpp"

namespace porter {
namespace {

// Fixed, so that the data do not depend on the run's seed.
constexpr std::uint64_t kSyntheticSeed = 0x706F72746572;
enum Stream : std::uint32_t { train_rows = 0, test_rows = 1, teacher = 2 };

// Sizes of the one-hot groups, as the attributes of the Adult data have after LIBSVM's encoding.
constexpr std::array<std::size_t, 14> kGroups = {5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41};
constexpr std::size_t kFeatures = std::accumulate(kGroups.begin(), kGroups.end(), std::size_t{0});
static_assert(kFeatures == 123);
// Three groups have unknown values, so a row has 11 to 14 non-zeros.
constexpr std::array<std::size_t, 3> kSometimesMissing = {1, 6, 13};
constexpr double kMissingRate = 0.04;
// With this probability a group follows the row's hidden trait instead of chance.
constexpr double kTraitRate = 0.35;
// This share of the frequencies is even, so that no value is too rare to occur.
constexpr double kEvenShare = 0.05;
constexpr std::size_t kPairs = 60;
// Chosen so that 24 % are positive and a linear model reaches 85 %.
constexpr double kWeight = 0.8, kPairWeight = 1.0, kIntercept = -4.47;

struct Teacher {
  std::vector<double> frequency;  // of each feature within its group
  std::vector<double> weight;
  std::vector<std::array<std::size_t, 3>> pairs;  // two features, and the sign of their product
};

Teacher make_teacher() {
  Teacher t;
  RngStream rng(kSyntheticSeed, Draw::data, Stream::teacher, 0);
  for (const auto size : kGroups) {
    // Frequencies fall like powers of a random ratio, from the commonest value to rare ones.
    const double ratio = size == 2 ? 0.15 + 0.5 * rng.uniform() : 0.55 + 0.3 * rng.uniform();
    double power = 1, sum = 0;
    const auto begin = t.frequency.size();
    for (std::size_t i = 0; i < size; ++i, power *= ratio) {
      t.frequency.push_back(power);
      sum += power;
    }
    for (auto i = begin; i < t.frequency.size(); ++i)
      t.frequency[i] = (1 - kEvenShare) * t.frequency[i] / sum + kEvenShare / double(size);
  }
  for (std::size_t j = 0; j < kFeatures; ++j) t.weight.push_back(kWeight * rng.normal());
  for (std::size_t i = 0; i < kPairs; ++i)
    t.pairs.push_back({rng.below(kFeatures), rng.below(kFeatures), rng.below(2)});
  return t;
}

// The feature of group [begin, begin + size) at the quantile u.
std::size_t pick(const Teacher& t, std::size_t begin, std::size_t size, double u) {
  for (std::size_t i = begin; i + 1 < begin + size; ++i) {
    if (u < t.frequency[i]) return i;
    u -= t.frequency[i];
  }
  return begin + size - 1;
}

double score(const Teacher& t, const std::array<bool, kFeatures>& row) {
  double sum = kIntercept;
  for (std::size_t j = 0; j < kFeatures; ++j)
    if (row[j]) sum += t.weight[j];
  for (const auto& [a, b, sign] : t.pairs)
    if (row[a] && row[b]) sum += sign == 0 ? kPairWeight : -kPairWeight;
  return sum;
}

std::array<bool, kFeatures> draw_row(const Teacher& t, RngStream& rng) {
  std::array<bool, kFeatures> row{};
  const double trait = rng.uniform();
  std::size_t begin = 0;
  for (const auto size : kGroups) {
    const double own = rng.uniform();
    const bool follows = rng.uniform() < kTraitRate;
    row[pick(t, begin, size, follows ? trait : own)] = true;
    begin += size;
  }
  for (const auto group : kSometimesMissing) {
    if (rng.uniform() >= kMissingRate) continue;
    begin = std::accumulate(kGroups.begin(), kGroups.begin() + group, std::size_t{0});
    for (auto j = begin; j < begin + kGroups[group]; ++j) row[j] = false;
  }
  return row;
}

FileTable draw_table(const Teacher& t, Stream which, std::size_t rows, const char* name) {
  FileTable table{.name = name};
  table.data.features = kFeatures;
  table.data.row_starts = {0};
  for (std::size_t i = 0; i < rows; ++i) {
    RngStream rng(kSyntheticSeed, Draw::data, which, static_cast<std::uint32_t>(i));
    const auto row = draw_row(t, rng);
    for (std::uint32_t j = 0; j < kFeatures; ++j)
      if (row[j]) table.data.columns.push_back(j);
    table.data.row_starts.push_back(table.data.columns.size());
    // A logistic teacher: P(label = +1) = 1 / (1 + exp(-score)).
    table.labels.push_back(rng.uniform() * (1 + exact_exp(-score(t, row))) < 1 ? 1 : -1);
  }
  table.data.values.assign(table.data.columns.size(), 1.0F);
  return table;
}

}  // namespace

TablePair synthetic_tables() {
  const auto& known = known_data("synthetic");
  const auto t = make_teacher();
  return {.train = draw_table(t, Stream::train_rows, known.train_rows, "synthetic training set"),
          .test = draw_table(t, Stream::test_rows, known.test_rows, "synthetic test set"),
          .source = "synthetic (" + known.what + ")"};
}

}  // namespace porter
