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
  std::map<double, float> numbers;
  for (const double label : classes) numbers.emplace(label, static_cast<float>(numbers.size()));

  const auto number_of = [&](const FileTable& table, Dataset& data, std::size_t row) {
    if (const auto found = numbers.find(table.labels[row]); found != numbers.end())
      return found->second;
    require(broken == BrokenRows::keep || data.is_void(row), ErrorKind::io, table.place(row),
            ": expected a label of ", stated ? "data.classes" : "the training set", " (",
            list_labels(classes), "), found ", table.labels[row]);
    data.voids.resize(std::max(data.voids.size(), row + 1));
    data.voids[row] = 1;
    return 0.0F;
  };
  DataPair pair;
  const auto labelled = [&](FileTable table) {
    Dataset data = std::move(table.data);
    if (regression) {
      data.labels.assign(table.labels.begin(), table.labels.end());
    } else {
      data.classes = classes;
      for (std::size_t row = 0; row < table.rows(); ++row)
        data.labels.push_back(number_of(table, data, row));
    }
    warn_of_voids(table, data, pair.warning);
    return data;
  };
  pair.train = labelled(std::move(train));
  if (test) pair.test = labelled(*std::move(test));
  return pair;
}

}  // namespace porter
