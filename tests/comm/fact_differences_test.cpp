// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/tls_wire.hpp"

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
  theirs["shared noise"] = "own 0.1, shared 0.2, grid 0.5";
  EXPECT_EQ(fact_differences(ours, theirs),
            "shared noise (nothing here, own 0.1, shared 0.2, grid 0.5 there)");
  theirs = ours;
  theirs[""] = "";
  EXPECT_EQ(fact_differences(ours, theirs), "a key without a name");
}

TEST(FactDifferences, AreShownWhereLongTextsBeginToDiffer) {
  const auto classes = [](int changed) {
    std::string list = "[";
    for (int i = 0; i < 100; ++i) list += std::to_string(i == changed ? 7000 : 100 + i) + ", ";
    return std::map<std::string, std::string>{{"data.classes", list + "200]"}};
  };
  const auto text = fact_differences(classes(-1), classes(60));
  EXPECT_NE(text.find(" 160, 161"), std::string::npos) << text;
  EXPECT_NE(text.find(" 7000, 161"), std::string::npos) << text;
  EXPECT_LT(text.size(), 200U);
}

}  // namespace
}  // namespace porter
