// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "batch_forward.hpp"
#include "device.hpp"
#include "porter/algo/algorithm.hpp"

namespace porter::cuda {

/// Who reads the training rows.
enum class Reader {
  entries,  ///< the logistic loss: what the file has
  samples,  ///< layers, one sample at a time: all features of a row, zeros of a sparse file too
  batches,  ///< the same, many samples at a time
  images,   ///< the same for networks over images, which want no more than the features
};

/// The training rows as kernels read them.
template <class Real>
class DeviceData {
 public:
  DeviceData(const Device& device, const Dataset& data, Reader reader)
      : features_(static_cast<std::uint32_t>(data.features)),
        sparse_(data.sparse()),
        labels_(device, std::span<const float>(data.labels)) {
    if (sparse_ && reader == Reader::entries) {
      values_ = {device, std::span<const float>(data.values)};
      columns_ = {device, std::span<const std::uint32_t>(data.columns)};
      const std::vector<std::uint64_t> starts(data.row_starts.begin(), data.row_starts.end());
      starts_ = {device, std::span<const std::uint64_t>(starts)};
    } else if (sparse_ || !data.lent_rows.empty()) {
      values_ = {device, std::span<const float>(all_features(data))};
    } else {
      values_ = {device, std::span<const float>(data.values)};
    }
    if (reader == Reader::batches) describe_rows(device, data);
    if (reader == Reader::samples) squares_ = {device, std::span<const double>(squares_of(data))};
  }

  bool sparse() const { return sparse_; }
  SampleRows rows() const {
    SampleRows rows{};
    rows.values = values_.data();
    rows.columns = columns_.data();
    rows.starts = starts_.data();
    rows.labels = labels_.data();
    rows.features = features_;
    return rows;
  }
  /// |row|^2 of each row; of what a layer sees, as a sample or a batch has it.
  const double* squares() const { return squares_.data(); }
  BatchInputs inputs() const {
    return {unequal_.data(), background_.data(), squares_.data(), entries_.data(),
            entry_starts_.data()};
  }

  /// Of the device.
  static std::size_t bytes(const Dataset& data, Reader reader) {
    const bool layered = reader != Reader::entries, batches = reader == Reader::batches;
    const std::size_t per_row = sizeof(float) + (batches ? 24 : reader == Reader::samples ? 8 : 0);
    const std::size_t values = layered ? data.rows() * data.features : data.entries();
    return data.rows() * per_row + values * sizeof(float) +
           (batches ? off_background(data) * sizeof(RowEntry) : 0) +
           (data.sparse() && !layered ? 4 * data.columns.size() + 8 * data.row_starts.size() : 0);
  }

 private:
  static std::vector<float> all_features(const Dataset& data) {
    std::vector<float> values(data.rows() * data.features);
    for (std::size_t row = 0; row < data.rows(); ++row)
      write_features(data[row], std::span(values).subspan(row * data.features, data.features));
    return values;
  }

  // As SamplePass has them: eight sums that take turns, or one over what a sparse file has.
  static std::vector<double> squares_of(const Dataset& data) {
    std::vector<double> squares;
    for (std::size_t row = 0; row < data.rows(); ++row) {
      const auto sample = data[row];
      const std::size_t lanes = sample.sparse ? 1 : kSumLanes;
      double s[kSumLanes] = {};
      for (std::size_t i = 0; i < sample.values.size(); ++i)
        s[i % lanes] += double{sample.values[i]} * double{sample.values[i]};
      squares.push_back(
          lanes == 1 ? s[0] : ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])));
    }
    return squares;
  }

  /// work(row, column, value, background) for what Inputs<Real> of the library calls entries.
  template <class Work>
  static void each_entry(const Dataset& data, const Work& work) {
    for (std::size_t row = 0; row < data.rows(); ++row) {
      const auto sample = data[row];
      const float background = background_of(sample);
      for (std::size_t i = 0; i < sample.values.size(); ++i)
        if (sample.sparse || sample.values[i] != background)
          work(row, sample.sparse ? sample.columns[i] : i, sample.values[i], background);
    }
  }
  template <class Sample>
  static float background_of(const Sample& sample) {
    return sample.sparse ? 0 : sample.values[0];
  }
  static std::size_t off_background(const Dataset& data) {
    std::size_t count = 0;
    each_entry(data, [&](auto...) { ++count; });
    return count;
  }

  // As Inputs<Real> of the library sees each row.
  void describe_rows(const Device& device, const Dataset& data) {
    std::vector<std::uint32_t> unequal(data.rows());
    std::vector<std::uint64_t> starts(data.rows() + 1);
    std::vector<RowEntry> entries;
    std::vector<float> backgrounds;
    std::vector<std::array<double, kSumLanes>> sums(data.rows());
    each_entry(data, [&](std::size_t row, std::size_t column, float value, float background) {
      const Real entry = Real{value} - Real{background};
      const double whole = double{entry} + double{background};
      sums[row][unequal[row]++ % kSumLanes] += whole * whole;
      entries.push_back({static_cast<std::uint32_t>(column), value});
      starts[row + 1] = entries.size();
    });
    std::vector<double> squares;
    for (std::size_t row = 0; row < data.rows(); ++row) {
      starts[row + 1] = std::max(starts[row + 1], starts[row]);
      backgrounds.push_back(background_of(data[row]));
      const auto& s = sums[row];
      const double background = backgrounds.back();
      squares.push_back(((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])) +
                        static_cast<double>(data.features - unequal[row]) *
                            (background * background));
    }
    entries_ = {device, std::span<const RowEntry>(entries)};
    entry_starts_ = {device, std::span<const std::uint64_t>(starts)};
    unequal_ = {device, std::span<const std::uint32_t>(unequal)};
    background_ = {device, std::span<const float>(backgrounds)};
    squares_ = {device, std::span<const double>(squares)};
  }

  std::uint32_t features_;
  bool sparse_;
  Array<float> values_, labels_, background_;
  Array<std::uint32_t> columns_, unequal_;
  Array<std::uint64_t> starts_, entry_starts_;
  Array<RowEntry> entries_;
  Array<double> squares_;
};

/// The layers as `make_mlp` and `make_softmax` lay them out.
inline Perceptron perceptron_of(const ModelOptions& model, std::size_t features,
                                std::size_t scores) {
  const bool biased = find_model(model.name).layered;
  auto widths = biased ? model.hidden : std::vector<std::size_t>{};
  widths.push_back(scores);
  Perceptron net{};
  net.activation = model.activation;
  std::size_t inputs = features, dim = 0;
  for (const auto outputs : widths) {
    net.layers[net.count++] = {static_cast<std::uint32_t>(inputs),
                               static_cast<std::uint32_t>(outputs),
                               static_cast<std::uint32_t>(dim),
                               static_cast<std::uint32_t>(dim + inputs * outputs),
                               net.units,
                               biased};
    dim += (inputs + (biased ? 1 : 0)) * outputs;
    net.units += static_cast<std::uint32_t>(outputs);
    inputs = outputs;
  }
  return net;
}

}  // namespace porter::cuda
