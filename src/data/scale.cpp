// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/vector_math.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "prepare.hpp"

namespace porter {
namespace {

// What a sparse set may take once it is made dense.
constexpr std::size_t kMaxDenseBytes = std::size_t{1} << 32;

void for_both(DataPair& data, const std::function<void(Dataset&)>& change) {
  change(data.train);
  if (data.test) change(*data.test);
}

void make_dense(Dataset& data) {
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

void scale_standard(DataPair& data) {
  for_both(data, make_dense);
  const auto& values = data.train.values;
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double stddev = std::sqrt(squares / count);
  require(stddev > 0, ErrorKind::usage,
          "scale: standard needs features that differ, but every one is ", mean);
  for_both(data, [&](Dataset& set) {
    for (float& value : set.values) value = static_cast<float>((value - mean) / stddev);
  });
}

void scale_unit(Dataset& data) {
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const auto values = row_values(data, row);
    double squares = 0;
    for (const float value : values) squares += double{value} * value;
    const double norm = squares == 0 ? 1 : std::sqrt(squares);
    for (float& value : values) value = static_cast<float>(value / norm);
  }
}

void scale_spectral(DataPair& data) {
  const double norm = spectral_norm(data.train);
  require(norm > 0, ErrorKind::usage, "scale: spectral needs a feature that is not zero");
  const double factor = norm / (2 * std::sqrt(static_cast<double>(data.train.rows())));
  for_both(data, [&](Dataset& set) {
    for (float& value : set.values) value = static_cast<float>(value * (1 / factor));
  });
}

double inner(const Sample& sample, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i < sample.values.size(); ++i)
    sum += sample.values[i] * x[sample.sparse ? sample.columns[i] : i];
  return sum;
}

// out = X^T X x
void apply_gram(const Dataset& data, const std::vector<double>& x, std::vector<double>& out) {
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    const auto sample = data[row];
    const double weight = inner(sample, x);
    for (std::size_t i = 0; i < sample.values.size(); ++i)
      out[sample.sparse ? sample.columns[i] : i] += weight * sample.values[i];
  }
}

}  // namespace

// The Rayleigh quotient rises towards the largest eigenvalue of X^T X, and its error is the square
// of the vector's, so it settles long before the vector does.
double spectral_norm(const Dataset& data) {
  constexpr int kMaxIterations = 500;
  constexpr double kSettled = 1e-12;
  std::vector<double> x(data.features), next(data.features);
  RngStream(0, Draw::data, 0, 0).fill_normal(x);
  double eigenvalue = 0;
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    const double length = std::sqrt(squared_norm(x));
    if (length == 0) return 0;
    for (double& value : x) value /= length;
    apply_gram(data, x, next);
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
  values.reserve(data.values.size() + data.rows());
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
  ++data.features;
}

void scale_and_add_bias(DataPair& data, FeatureScale scale, bool bias) {
  if (scale == FeatureScale::standard) scale_standard(data);
  if (scale == FeatureScale::unit) for_both(data, scale_unit);
  if (bias) for_both(data, append_ones);
  if (scale == FeatureScale::spectral) scale_spectral(data);
}

}  // namespace porter
