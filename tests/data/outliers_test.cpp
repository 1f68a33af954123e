// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/data/load.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

constexpr std::size_t kTableRows = 4000;

class OutliersTest : public testing::Test {
 protected:
  OutliersTest() {
    std::string csv, libsvm;
    for (std::size_t row = 0; row < kTableRows; ++row) {
      const char* label = row % 2 == 0 ? "0" : "1";
      csv += concat("1,2,", label, '\n');
      libsvm += concat(label, " 1:1 3:2\n");
    }
    write_file(dir_ / "dense.csv", csv);
    write_file(dir_ / "sparse.txt", libsvm);
  }

  DataPair load(const char* file, const std::string& outliers, bool bias) const {
    const auto path = (dir_ / file).string();
    return load_data({.train = path, .test = path, .outliers = outliers, .bias = bias});
  }

  TempDir dir_;
};

TEST_F(OutliersTest, AFractionOfTheTrainingRowsGrowsByTheFactorAndNothingElseChanges) {
  for (const char* file : {"dense.csv", "sparse.txt"})
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(testing::Message() << file << ", bias " << bias);
      const auto plain = load(file, "none", bias), planted = load(file, "0.05:100", bias);
      std::size_t grown = 0;
      for (std::size_t row = 0; row < kTableRows; ++row) {
        const auto before = plain.train[row].values, after = planted.train[row].values;
        const float factor = after[0] == before[0] ? 1.0F : 100.0F;
        grown += factor > 1;
        for (std::size_t j = 0; j < before.size(); ++j) {
          const bool one = bias && j + 1 == before.size();
          ASSERT_EQ(after[j], before[j] * (one ? 1.0F : factor)) << "row " << row << ", " << j;
        }
      }
      EXPECT_NEAR(static_cast<double>(grown), 200, 4 * std::sqrt(200));  // four deviations
      EXPECT_EQ(planted.train.labels, plain.train.labels);
      EXPECT_EQ(planted.test->values, plain.test->values);
      EXPECT_NE(planted.source.find(concat(grown, " training rows are outliers")),
                std::string::npos)
          << planted.source;
    }
}

TEST_F(OutliersTest, AreTheSameRowsEveryTime) {
  EXPECT_EQ(load("dense.csv", "0.01:10", true).train.values,
            load("dense.csv", "0.01:10", true).train.values);
}

TEST_F(OutliersTest, WrongSpecsNameTheKey) {
  for (const char* spec : {"", "0.1", "0:10", "1:10", "0.1:0", "0.1:-1", "0.1:inf", "x:1", "0.1:"})
    try {
      load("dense.csv", spec, true);
      ADD_FAILURE() << '"' << spec << "\" was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("data.outliers: expected none or FRACTION:FACTOR"),
                std::string::npos)
          << error.what();
    }
}

}  // namespace
}  // namespace porter
