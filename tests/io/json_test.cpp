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

}  // namespace
}  // namespace porter
