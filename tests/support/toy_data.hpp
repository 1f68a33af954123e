// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>

#include "porter/core/rng.hpp"
#include "porter/data/dataset.hpp"

namespace porter {

/// Random features with labels from a random linear teacher; a third of the entries are zero.
/// `classes` = 0 makes a regression.
inline Dataset toy_data(std::size_t rows, std::size_t features, std::size_t classes, bool sparse,
                        std::uint32_t round = 0) {
  RngStream rng(99, Draw::test, 1, round);
  std::vector<double> teacher(features * std::max<std::size_t>(classes, 1));
  RngStream(98, Draw::test, 0, 0).fill_normal(teacher);
  Dataset data;
  data.features = features;
  for (std::size_t c = 0; c < classes; ++c) data.classes.push_back(std::to_string(c));
  if (sparse) data.row_starts.push_back(0);
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<double> scores(std::max<std::size_t>(classes, 1), 0.0);
    for (std::size_t j = 0; j < features; ++j) {
      const float value = rng.below(3) == 0 ? 0.0F : static_cast<float>(rng.normal());
      if (!sparse || value != 0) data.values.push_back(value);
      if (sparse && value != 0) data.columns.push_back(static_cast<std::uint32_t>(j));
      for (std::size_t c = 0; c < scores.size(); ++c)
        scores[c] += teacher[c * features + j] * double{value};
    }
    if (sparse) data.row_starts.push_back(data.values.size());
    std::size_t best = 0;
    for (std::size_t c = 1; c < scores.size(); ++c)
      if (scores[c] > scores[best]) best = c;
    data.labels.push_back(classes == 0 ? static_cast<float>(scores[0]) : static_cast<float>(best));
  }
  return data;
}

/// Dense rows as csv, the class last.
inline std::string csv_row(const Dataset& data, std::size_t row) {
  std::string text;
  for (const float value : data[row].values) text += std::to_string(value) + ",";
  return text + std::to_string(static_cast<int>(data.labels[row])) + "\n";
}
inline std::string csv_text(const Dataset& data) {
  std::string text;
  for (std::size_t row = 0; row < data.rows(); ++row) text += csv_row(data, row);
  return text;
}

/// Gives the rows weights from 0 to 1, both among them.
inline void add_weights(Dataset& data) {
  RngStream rng(95, Draw::test, 2, 0);
  data.weights.clear();
  for (std::size_t r = 0; r < data.rows(); ++r)
    data.weights.push_back(r % 5 == 0   ? 0.0F
                           : r % 5 == 1 ? 1.0F
                                        : static_cast<float>(rng.uniform()));
}

/// The same features with `outputs` targets from a linear teacher and noise: residuals on both
/// sides of 1, where the losses of a regression differ.
inline Dataset toy_targets(std::size_t rows, std::size_t features, std::size_t outputs, bool sparse,
                           double noise = 1, std::uint32_t round = 0) {
  auto data = toy_data(rows, features, 0, sparse, round);
  std::vector<double> teacher(features * outputs);
  RngStream(97, Draw::test, 0, 0).fill_normal(teacher);
  RngStream rng(96, Draw::test, 1, round);
  std::vector<float> targets;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto sample = data[r];
    for (std::size_t o = 0; o < outputs; ++o) {
      double target = noise * rng.normal();
      for (std::size_t i = 0; i < sample.values.size(); ++i)
        target +=
            teacher[o * features + (sparse ? sample.columns[i] : i)] * double{sample.values[i]};
      targets.push_back(static_cast<float>(target));
    }
  }
  data.labels = targets;
  data.outputs = outputs;
  return data;
}

}  // namespace porter
