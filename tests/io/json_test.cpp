// SPDX-License-Identifier: Apache-2.0
#include "io/json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace porter {
namespace {

TEST(JsonText, KeepsTheOrderAndReplacesWhatIsNotUtf8) {
  const nlohmann::ordered_json json = {{"name", "data/\xff"}, {"b", 1}, {"a", 2}};
  EXPECT_EQ(json_text(json), "{\"name\":\"data/\xef\xbf\xbd\",\"b\":1,\"a\":2}");
  EXPECT_NE(json_text(json, 2).find("\n  \"b\": 1"), std::string::npos);
}

TEST(JsonText, OnlyBracketsOutsideOfTextsNest) {
  const auto nested = [](int depth) {
    return std::string(std::size_t(depth), '[') + std::string(std::size_t(depth), ']');
  };
  EXPECT_FALSE(nests_deep(nested(64)));
  EXPECT_TRUE(nests_deep(nested(65)));
  EXPECT_TRUE(nests_deep("{\"a\\\"\": " + nested(64) + "}"));
  EXPECT_FALSE(nests_deep("[\"\\\"" + nested(100) + "\"]"));
  std::string flat = "[";
  for (int i = 0; i < 100; ++i) flat += "[],";
  EXPECT_FALSE(nests_deep(flat + "0]"));
}

}  // namespace
}  // namespace porter
