// SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"

#include "terms.hpp"

namespace porter {

void dense_block(const Dataset& data, std::size_t begin, std::size_t rows,
                 std::vector<double>& out) {
  out.assign(rows * data.features, 0.0);
  for (std::size_t r = 0; r < rows; ++r)
    add_features(1.0, data[begin + r], std::span(out).subspan(r * data.features, data.features));
}

std::vector<double> transpose(std::span<const double> matrix, std::size_t rows,
                              std::size_t columns) {
  std::vector<double> out(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) out[j * rows + i] = matrix[i * columns + j];
  return out;
}

void add_cross_entropy(const Dataset& data, std::size_t begin, std::size_t rows,
                       std::size_t classes, std::span<double> scores, Model::Totals& totals) {
  for (std::size_t r = 0; r < rows; ++r) {
    const auto s = scores.subspan(r * classes, classes);
    const auto label = static_cast<std::size_t>(data.labels[begin + r]);
    totals.correct += argmax(s) == label;
    const double label_score = s[label];
    totals.loss += softmax_in_place(s) - label_score;
    s[label] -= 1;
  }
}

}  // namespace porter
