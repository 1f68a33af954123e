// SPDX-License-Identifier: Apache-2.0
// What load_data does to the tables it has read.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "porter/data/load.hpp"
#include "table.hpp"

namespace porter {

/// Classes: `classes`, or else the distinct labels of `train` in ascending order, become 0, 1, ...;
/// any other label is Error{io} naming its place, or makes its record count for nothing.
/// Regression: the labels as they are. The pair's warning counts the records that count for
/// nothing.
DataPair label_tables(FileTable train, std::optional<FileTable> test, bool regression,
                      std::vector<double> classes = {}, BrokenRows broken = BrokenRows::refuse);

/// Transforms images, then scales both sets and appends the column of ones:
///   none      x
///   spectral  x / (|X|_2 / (2 sqrt(N))), X the first N training rows, as many as `agents` share
///             evenly, with the column of ones if there is one; that column is divided too
///   standard  (x - mean) / stddev, both over all entries of the training rows, or `moments`; dense
///   unit      x / |x|_2 row by row; a zero row stays
/// What is measured on the training set is kept in the pair's scaling.
void scale_and_add_bias(DataPair& data, FeatureScale scale, bool bias,
                        const ImageTransform& transform = {}, std::size_t agents = 1,
                        const std::optional<FeatureMoments>& moments = {});

/// "FRACTION:FACTOR": multiplies so many of the training rows, the same in every run, by the
/// factor; not the column of ones, which is last if there is one. "none": nothing.
void plant_outliers(DataPair& data, std::string_view spec, bool bias);

/// |X|_2, the largest singular value of the first so many rows, by power iteration from a fixed
/// start.
double spectral_norm(const Dataset& data, std::size_t rows);

void append_ones(Dataset& data);

}  // namespace porter
