// SPDX-License-Identifier: Apache-2.0
#include "comm/fact_differences.hpp"

#include <gtest/gtest.h>

namespace porter {
namespace {

TEST(FactDifferences, NameKeysAndShowWhatRecordsMayLookLike) {
  const std::map<std::string, std::string> ours = {
      {"algorithm.step", "0.1"}, {"data.classes", "[0, 1]"}, {"dim", "31"}, {"same", "1"}};
  EXPECT_EQ(fact_differences(ours, ours), "");
  std::map<std::string, std::string> theirs = {{"algorithm.step", "0.2"},
                                               {"data.classes", "\"0..3\""},
                                               {"data.features", "30"},
                                               {"dim", "124"},
                                               {"same", "1"}};
  EXPECT_EQ(fact_differences(ours, theirs),
            "algorithm.step, data.classes ([0, 1] here, \"0..3\" there), data.features (nothing "
            "here, 30 there), dim (31 here, 124 there)");
  theirs = ours;
  theirs["dim"] = std::string(1000, '7');
  EXPECT_LT(fact_differences(ours, theirs).size(), 120U);
  theirs = ours;
  theirs[""] = "";
  EXPECT_EQ(fact_differences(ours, theirs), "a key without a name");
}

}  // namespace
}  // namespace porter
