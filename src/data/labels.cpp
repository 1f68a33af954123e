// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "porter/core/error.hpp"
#include "porter/data/load.hpp"
#include "prepare.hpp"

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

std::string list_labels(const std::vector<double>& classes) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(classes.size(), kShown); ++i)
    text += concat(i == 0 ? "" : ", ", classes[i]);
  return text + (classes.size() > kShown ? ", ..." : "");
}

// Numbers the labels of tables.
class Classes {
 public:
  /// `whose` says in errors where the labels come from.
  Classes(std::vector<double> labels, const char* whose, BrokenRows broken)
      : labels_(std::move(labels)), whose_(whose), broken_(broken) {
    for (const double label : labels_) numbers_.emplace(label, static_cast<float>(numbers_.size()));
  }

  Dataset apply(FileTable& table) const {
    Dataset data = std::move(table.data);
    data.classes = labels_;
    data.labels.reserve(table.labels.size());
    for (std::size_t row = 0; row < table.labels.size(); ++row) {
      const auto label = table.labels[row];
      const auto found = numbers_.find(label);
      if (found == numbers_.end()) void_row(data, table, row);
      data.labels.push_back(found == numbers_.end() ? 0.0F : found->second);
    }
    return data;
  }

 private:
  void void_row(Dataset& data, const FileTable& table, std::size_t row) const {
    if (data.is_void(row)) return;
    require(broken_ == BrokenRows::keep, ErrorKind::io, table.place(row), ": expected a label of ",
            whose_, " (", list_labels(labels_), "), found ", table.labels[row]);
    data.voids.resize(std::max(data.voids.size(), row + 1));
    data.voids[row] = 1;
  }

  std::vector<double> labels_;
  const char* whose_;
  BrokenRows broken_;
  std::map<double, float> numbers_;
};

Dataset with_targets(FileTable& table) {
  Dataset data = std::move(table.data);
  data.labels.assign(table.labels.begin(), table.labels.end());
  return data;
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

}  // namespace

DataPair label_tables(FileTable train, std::optional<FileTable> test, bool regression,
                      std::vector<double> classes, BrokenRows broken) {
  const bool stated = !classes.empty();
  if (!stated && !regression) classes = distinct_labels(train);
  const Classes numbers(std::move(classes), stated ? "data.classes" : "the training set", broken);
  DataPair pair;
  const auto labelled = [&](FileTable table) {
    auto data = regression ? with_targets(table) : numbers.apply(table);
    warn_of_voids(table, data, pair.warning);
    return data;
  };
  pair.train = labelled(std::move(train));
  if (test) pair.test = labelled(*std::move(test));
  return pair;
}

}  // namespace porter
