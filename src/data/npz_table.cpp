// SPDX-License-Identifier: Apache-2.0
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "table.hpp"
#include "text.hpp"

namespace porter {
namespace {

std::string shape_text(const NpyArray& array) {
  std::string text;
  for (const auto extent : array.shape)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text.empty() ? "a single number" : text;
}

void check_finite(double value, const std::string& name, std::size_t row, std::string_view what) {
  if (!fits_float(value))
    fail(ErrorKind::io, name, ", row ", row, ": expected a finite number as ", what, ", found ",
         value);
}

}  // namespace

FileTable decode_npz_table(std::string_view bytes, const std::string& name, BrokenRows broken) {
  require(!bytes.empty(), ErrorKind::io, name, ": the file is empty");
  const auto arrays = decode_npz(bytes, name);
  const auto& x = member(arrays, "X", name);
  const auto& y = member(arrays, "y", name);
  require(x.shape.size() == 2 && !x.values.empty(), ErrorKind::io, name,
          ": expected X to be rows x features, found ", shape_text(x));
  const auto rows = x.shape[0], features = x.shape[1];
  const bool column = y.shape.size() == 2 && y.shape[1] > 0;
  require((y.shape.size() == 1 || column) && y.shape[0] == rows, ErrorKind::io, name,
          ": expected y to have ", rows, " labels, one for each row of X, found ", shape_text(y));
  const auto outputs = column ? y.shape[1] : 1;
  require(features <= kMaxFeatures, ErrorKind::io, name, ": expected at most ", kMaxFeatures,
          " features, found ", features);

  FileTable table{.name = name, .labels = y.values};
  table.data.features = features;
  table.data.outputs = outputs;
  table.data.values.reserve(x.values.size());
  if (broken == BrokenRows::keep) table.data.voids.assign(rows, 0);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const bool fits = fits_float(x.values[i]);
    if (!fits && broken == BrokenRows::keep) table.data.voids[i / features] = 1;
    if (broken == BrokenRows::refuse)
      check_finite(x.values[i], name, i / features, "a feature of X");
    table.data.values.push_back(fits ? static_cast<float>(x.values[i]) : 0.0F);
  }
  for (std::size_t i = 0; i < table.labels.size(); ++i) {
    double& label = table.labels[i];
    if (broken == BrokenRows::refuse) check_finite(label, name, i / outputs, "the label in y");
    if (fits_float(label)) continue;
    table.data.voids[i / outputs] = 1;
    label = 0;
  }
  return table;
}

}  // namespace porter
