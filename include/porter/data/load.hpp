// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "porter/data/dataset.hpp"

namespace porter {

/// The [data] section of a config.
struct DataOptions {
  std::string name =
      "synthetic";  ///< a known data set; ignored when `train` (or train_images) is given
  std::string train = {}, test = {};  ///< files: libsvm text, csv, npz; gzip transparently
  std::string train_images = {}, train_labels = {};  ///< IDX files
  std::string test_images = {}, test_labels = {};
  std::size_t features = 0;    ///< width of libsvm files; 0: the largest index of the training file
  std::string scale = "none";  ///< none | spectral | standard | unit, measured on the training set
  std::string outliers =
      "none";        ///< none | FRACTION:FACTOR: so many training rows times the factor, at last
  bool bias = true;  ///< append a column of ones, last
  bool regression = false;  ///< labels are targets, not classes
};

/// Reads or generates, maps labels to class numbers, scales, appends the bias column, plants
/// outliers. Errors name
/// the file, the line, what was expected and what was found.
DataPair load_data(const DataOptions& options);

}  // namespace porter
