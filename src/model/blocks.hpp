// SPDX-License-Identifier: Apache-2.0
// Evaluation of many rows at once, as matrix products over blocks that fit the cache.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "porter/data/dataset.hpp"
#include "porter/model/model.hpp"

namespace porter {

inline constexpr std::size_t kBlockRows = 96;

/// Calls work(begin, rows) for consecutive blocks of [first, last).
template <class Work>
void for_each_block(std::size_t first, std::size_t last, Work work) {
  for (std::size_t begin = first; begin < last; begin += kBlockRows)
    work(begin, std::min(kBlockRows, last - begin));
}

/// The features of `rows` rows from `begin` on, dense, in double.
void dense_block(const Dataset& data, std::size_t begin, std::size_t rows,
                 std::vector<double>& out);

/// The transpose of a row-major matrix.
std::vector<double> transpose(std::span<const double> matrix, std::size_t rows,
                              std::size_t columns);

/// Adds cross-entropy and hits of a block of scores, and turns the scores into their gradient p -
/// e_label.
void add_cross_entropy(const Dataset& data, std::size_t begin, std::size_t rows,
                       std::size_t classes, std::span<double> scores, Model::Totals& totals);

}  // namespace porter
