// SPDX-License-Identifier: Apache-2.0
#include "prepare.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "core/text.hpp"
#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

std::vector<double> distinct_labels(const FileTable& table) {
  auto classes = table.labels;
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  require(classes.size() >= 2, ErrorKind::io, table.name,
          ": expected at least two classes, found only the label ", classes.front());
  require(classes.size() <= kMaxClasses, ErrorKind::io, table.name, ": expected at most ",
          kMaxClasses, " classes, found ", classes.size(),
          " distinct labels; if these are targets of a regression, use a regression model");
  return classes;
}

void require_one_label(const FileTable& table) {
  require(table.data.outputs == 1, ErrorKind::io, table.name,
          ": expected one label in each row, its class, found y with ", table.data.outputs,
          " columns; several targets are for a regression (model linear, or mlp with model.loss)");
}

std::string list_labels(const std::vector<double>& classes) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(classes.size(), kShown); ++i)
    text += concat(i == 0 ? "" : ", ", classes[i]);
  return text + (classes.size() > kShown ? ", ..." : "");
}

// Says how many and where, not what they hold: a log is soon passed on.
void warn_of_voids(const FileTable& table, const Dataset& data, std::string& warning) {
  const auto count = data.void_rows();
  if (count == 0) return;
  std::size_t first = 0;
  while (!data.is_void(first)) ++first;
  warning += concat(warning.empty() ? "" : "; ", count, " of ", data.rows(),
                    " records do not fit data.classes and data.features or are no numbers, and "
                    "count for nothing; the first: ",
                    table.place(first));
}

// The values of a row, to change; they are the data set's own.
std::span<float> row_values(Dataset& data, std::size_t row) {
  if (!data.sparse()) return std::span(data.values).subspan(row * data.features, data.features);
  const auto begin = data.row_starts[row];
  return std::span(data.values).subspan(begin, data.row_starts[row + 1] - begin);
}

// What a sparse set may take once it is made dense.
constexpr std::size_t kMaxDenseBytes = std::size_t{1} << 32;

void for_both(DataPair& data, const std::function<void(Dataset&)>& change) {
  change(data.train);
  if (data.test) change(*data.test);
}

// Dense, and its own to change.
void make_dense(Dataset& data) {
  own_rows(data);
  if (!data.sparse()) return;
  require(data.rows() <= kMaxDenseBytes / sizeof(float) / data.features, ErrorKind::usage,
          "scale: standard makes the data dense, and ", data.rows(), " rows of ", data.features,
          " features would take more than the limit of ", kMaxDenseBytes >> 30,
          " GiB; use none, spectral or unit");
  std::vector<float> dense(data.rows() * data.features, 0.0F);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const auto sample = data[row];
    for (std::size_t i = 0; i < sample.values.size(); ++i)
      dense[row * data.features + sample.columns[i]] = sample.values[i];
  }
  data.values = std::move(dense);
  data.columns.clear();
  data.row_starts.clear();
}

void measure_standard(const Dataset& train, FeatureScaling& scaling) {
  const auto& values = train.values;
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double stddev = std::sqrt(squares / count);
  require(stddev > 0, ErrorKind::usage,
          "scale: standard needs features that differ, but every one is ", mean);
  scaling.mean = mean;
  scaling.deviation = stddev;
}

void scale_unit(Dataset& data) {
  own_rows(data);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const auto values = row_values(data, row);
    double squares = 0;
    for (const float value : values) squares += double{value} * value;
    const double norm = squares == 0 ? 1 : std::sqrt(squares);
    for (float& value : values) value = static_cast<float>(value / norm);
  }
}

// Fewer rows than agents are refused when they are dealt.
void measure_spectral(const Dataset& train, std::size_t agents, FeatureScaling& scaling) {
  const std::size_t over = agents > 0 ? train.rows() % agents : 0;
  const std::size_t rows = train.rows() - (over < train.rows() ? over : 0);
  const double norm = spectral_norm(train, rows);
  require(norm > 0, ErrorKind::usage, "scale: spectral needs a feature that is not zero");
  scaling.factor = norm / (2 * std::sqrt(static_cast<double>(rows)));
}

double inner(const Sample& sample, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i < sample.values.size(); ++i)
    sum += sample.values[i] * x[sample.sparse ? sample.columns[i] : i];
  return sum;
}

// out = X^T X x, X the first rows
void apply_gram(const Dataset& data, std::size_t rows, const std::vector<double>& x,
                std::vector<double>& out) {
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto sample = data[row];
    const double weight = inner(sample, x);
    for (std::size_t i = 0; i < sample.values.size(); ++i)
      out[sample.sparse ? sample.columns[i] : i] += weight * sample.values[i];
  }
}

// Fixed, so that the rows do not depend on the run's seed.
constexpr std::uint64_t kOutlierSeed = 0x6F75746C696572;

struct Outliers {
  double fraction, factor;
};

Outliers parse_outliers(std::string_view text) {
  const auto spec = split_spec(text);
  const auto fraction = parse_number<double>(spec.name);
  const auto factor = spec.number<double>();
  require(
      fraction && *fraction > 0 && *fraction < 1 && factor && *factor > 0 && std::isfinite(*factor),
      ErrorKind::usage, "data.outliers: expected none or FRACTION:FACTOR with a fraction in ",
      "(0, 1) and a factor above 0, such as 0.01:100, found \"", text, "\"");
  return {*fraction, *factor};
}

}  // namespace

DataPair label_tables(FileTable train, std::optional<FileTable> test, bool regression,
                      std::vector<double> classes, BrokenRows broken) {
  for (const auto* table : {&train, test ? &*test : nullptr})
    if (table && !regression) require_one_label(*table);
  if (test)
    require(test->data.outputs == train.data.outputs, ErrorKind::io, test->name, ": expected ",
            train.data.outputs, " targets in each row as in ", train.name, ", found ",
            test->data.outputs);
  const bool stated = !classes.empty();
  if (!stated && !regression) classes = distinct_labels(train);
  std::map<double, float> numbers;
  for (const double label : classes) numbers.emplace(label, static_cast<float>(numbers.size()));

  const auto number_of = [&](const FileTable& table, Dataset& data, std::size_t row) {
    if (const auto found = numbers.find(table.labels[row]); found != numbers.end())
      return found->second;
    require(broken == BrokenRows::keep || data.is_void(row), ErrorKind::io, table.place(row),
            ": expected a label of ", stated ? "data.classes" : "the training set", " (",
            list_labels(classes), "), found ", table.labels[row]);
    data.voids.resize(std::max(data.voids.size(), row + 1));
    data.voids[row] = 1;
    return 0.0F;
  };
  DataPair pair;
  const auto labelled = [&](FileTable table) {
    Dataset data = std::move(table.data);
    if (regression) {
      data.labels.assign(table.labels.begin(), table.labels.end());
    } else {
      for (const double label : classes) data.classes.push_back(label_text(label));
      for (std::size_t row = 0; row < table.rows(); ++row)
        data.labels.push_back(number_of(table, data, row));
    }
    warn_of_voids(table, data, pair.warning);
    return data;
  };
  pair.train = labelled(std::move(train));
  if (test) pair.test = labelled(*std::move(test));
  return pair;
}

// The Rayleigh quotient rises towards the largest eigenvalue of X^T X, and its error is the square
// of the vector's, so it settles long before the vector does.
double spectral_norm(const Dataset& data, std::size_t rows) {
  constexpr int kMaxIterations = 500;
  constexpr double kSettled = 1e-12;
  std::vector<double> x(data.features), next(data.features);
  RngStream(0, Draw::data, 0, 0).fill_normal(x);
  double eigenvalue = 0;
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    const double length = std::sqrt(squared_norm(x));
    if (length == 0) return 0;
    for (double& value : x) value /= length;
    apply_gram(data, rows, x, next);
    const double before = eigenvalue;
    eigenvalue = dot(x, next);
    std::swap(x, next);
    if (eigenvalue - before <= kSettled * eigenvalue) break;
  }
  return std::sqrt(eigenvalue);
}

void append_ones(Dataset& data) {
  std::vector<float> values;
  std::vector<std::uint32_t> columns;
  values.reserve(data.entries() + data.rows());
  if (data.sparse()) columns.reserve(values.capacity());
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const auto sample = data[row];
    values.insert(values.end(), sample.values.begin(), sample.values.end());
    values.push_back(1.0F);
    if (!data.sparse()) continue;
    columns.insert(columns.end(), sample.columns.begin(), sample.columns.end());
    columns.push_back(static_cast<std::uint32_t>(data.features));
  }
  for (std::size_t row = 0; row < data.row_starts.size(); ++row) data.row_starts[row] += row;
  data.values = std::move(values);
  data.columns = std::move(columns);
  data.lent_rows.clear();
  data.keepers.clear();
  ++data.features;
}

void FeatureScaling::apply(Dataset& data) const {
  transform.apply(data);
  if (kind == FeatureScale::standard) {
    make_dense(data);
    for (float& value : data.values) value = static_cast<float>((value - mean) / deviation);
  }
  if (kind == FeatureScale::unit) scale_unit(data);
  if (bias) append_ones(data);
  if (kind == FeatureScale::spectral) {
    own_rows(data);
    for (float& value : data.values) value = static_cast<float>(value * (1 / factor));
  }
}

void scale_and_add_bias(DataPair& data, FeatureScale scale, bool bias,
                        const ImageTransform& transform, std::size_t agents,
                        const std::optional<FeatureMoments>& moments) {
  // What is measured below is measured on what the transform made.
  for_both(data, [&](Dataset& set) { transform.apply(set); });
  auto& scaling = data.scaling;
  const auto [mean, deviation] = moments.value_or(FeatureMoments{});
  scaling = {.kind = scale, .mean = mean, .deviation = deviation, .bias = bias};
  if (scale == FeatureScale::standard && !moments) {
    for_both(data, make_dense);
    measure_standard(data.train, scaling);
  }
  if (scale == FeatureScale::spectral) {
    // The column of ones is measured as well, so it is there before.
    if (bias) for_both(data, append_ones);
    measure_spectral(data.train, agents, scaling);
    scaling.bias = false;
  }
  for_both(data, [&](Dataset& set) { scaling.apply(set); });
  scaling.bias = bias;
  scaling.transform = transform;
}

void plant_outliers(DataPair& data, std::string_view spec, bool bias) {
  if (spec == "none") return;
  const auto [fraction, factor] = parse_outliers(spec);
  auto& train = data.train;
  own_rows(train);
  std::size_t planted = 0;
  for (std::size_t row = 0; row < train.rows(); ++row) {
    RngStream rng(kOutlierSeed, Draw::data, 0, static_cast<std::uint32_t>(row));
    if (rng.uniform() >= fraction) continue;
    ++planted;
    const auto values = row_values(train, row);
    for (float& value : values.first(values.size() - (bias ? 1 : 0)))
      value = static_cast<float>(value * factor);
  }
  data.source += concat("; ", planted, " training rows are outliers, ", factor, " times as long");
}

}  // namespace porter
