// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "porter/core/error.hpp"
#include "prepare.hpp"

namespace porter {
namespace {

// More distinct labels than this are targets of a regression, not classes.
constexpr std::size_t kMaxClasses = 1000;

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

std::string list_labels(const std::vector<double>& classes) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(classes.size(), kShown); ++i)
    text += concat(i == 0 ? "" : ", ", classes[i]);
  return text + (classes.size() > kShown ? ", ..." : "");
}

Dataset with_classes(FileTable table, const std::vector<double>& classes) {
  Dataset data = std::move(table.data);
  data.classes = classes;
  data.labels.reserve(table.labels.size());
  for (std::size_t row = 0; row < table.labels.size(); ++row) {
    const auto label = table.labels[row];
    const auto found = std::lower_bound(classes.begin(), classes.end(), label);
    if (found == classes.end() || *found != label)
      fail(ErrorKind::io, table.place(row), ": expected a label of the training set (",
           list_labels(classes), "), found ", label);
    data.labels.push_back(static_cast<float>(found - classes.begin()));
  }
  return data;
}

Dataset with_targets(FileTable table) {
  Dataset data = std::move(table.data);
  data.labels.assign(table.labels.begin(), table.labels.end());
  return data;
}

}  // namespace

DataPair label_tables(FileTable train, std::optional<FileTable> test, bool regression) {
  DataPair pair;
  if (regression) {
    pair.train = with_targets(std::move(train));
    if (test) pair.test = with_targets(*std::move(test));
    return pair;
  }
  const auto classes = distinct_labels(train);
  pair.train = with_classes(std::move(train), classes);
  if (test) pair.test = with_classes(*std::move(test), classes);
  return pair;
}

}  // namespace porter
