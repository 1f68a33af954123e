// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "paths.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"
#include "temp_dir.hpp"

namespace porter {

/// A table of two numbers and a label in a folder, a schema that leaves their ranges, means and
/// deviations to the run, and what they are.
struct MeasuredTable {
  MeasuredTable(const std::filesystem::path& folder, std::size_t rows) {
    RngStream rng(5, Draw::test, 0, 0);
    std::string text = "age,income,ill\n";
    for (std::size_t i = 0; i < rows; ++i) {
      const double age = std::clamp(45 + 12 * rng.normal(), 0.0, 100.0);
      const double income = 3000 + 900 * rng.normal();
      ages.push_back(age);
      incomes.push_back(income);
      text += concat(age, ',', income, ',', age + rng.normal() > 45 ? "yes" : "no", '\n');
    }
    write_file(folder / "t.csv", text);
    write_file(folder / "schema.toml", read_file(source_dir() + "/tests/support/measured.toml"));
  }

  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }
  static double deviation(const std::vector<double>& values) {
    const double centre = mean(values);
    double squares = 0;
    for (const double value : values) squares += std::pow(value - centre, 2);
    return std::sqrt(squares / static_cast<double>(values.size()));
  }

  std::vector<double> ages, incomes;
};

/// A run on it; `more` are further sections and keys of the last.
inline std::string measuring_run(const std::string& more) {
  return R"([data]
train = "t.csv"
schema = "schema.toml"
[network]
agents = 4
graph = "ring"
mixing = "metropolis"
[run]
evaluate = "end"
[algorithm]
rounds = 5
batch = 50
step = 0.1
consensus = 0.5
compressor = "random_k:0.5"
clip = "linear:0.5"
)" + more;
}

}  // namespace porter
