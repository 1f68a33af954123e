// SPDX-License-Identifier: Apache-2.0
#include "export/cpp_names.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "porter/core/rng.hpp"

namespace porter {
namespace {

std::string alone(std::string_view name) {
  std::set<std::string> taken;
  return cpp_identifier(name, taken);
}

TEST(CppNames, AreIdentifiersThatReadLikeTheColumn) {
  for (const auto& [name, expected] :
       std::initializer_list<std::pair<const char*, const char*>>{{"age", "age"},
                                                                  {"Income (EUR)", "Income_EUR"},
                                                                  {"2nd", "column_2nd"},
                                                                  {"", "column"},
                                                                  {"__a__b__", "a_b"},
                                                                  {"größe", "gr_e"},
                                                                  {"class", "class_2"},
                                                                  {"unix", "unix_2"},
                                                                  {"\n\\\"", "column"}})
    EXPECT_EQ(alone(name), expected);
}

TEST(CppNames, OfDifferentColumnsAreDifferent) {
  std::set<std::string> taken;
  EXPECT_EQ(cpp_identifier("a b", taken), "a_b");
  EXPECT_EQ(cpp_identifier("a_b_2", taken), "a_b_2");
  EXPECT_EQ(cpp_identifier("a.b", taken), "a_b_3");
  EXPECT_EQ(cpp_identifier("class", taken), "class_2");
  EXPECT_EQ(cpp_identifier("class 2", taken), "class_2_2");
}

// Whatever the bytes: a legal name, not reserved for the compiler, and never the same twice.
TEST(CppNames, AreLegalWhateverTheBytes) {
  const std::regex legal("[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*");
  std::set<std::string> taken;
  RngStream rng(1, Draw::data, 0, 0);
  for (std::size_t count = 1; count <= 2000; ++count) {
    std::string name;
    for (auto length = rng.below(6); length > 0; --length)
      name += rng.below(2) == 0 ? "a_ 1"[rng.below(4)] : static_cast<char>(rng.below(256));
    EXPECT_TRUE(std::regex_match(cpp_identifier(name, taken), legal)) << name;
    ASSERT_EQ(taken.size(), count) << name;
  }
}

TEST(CppNames, OfNamespacesAreNoFunctionsOfC) {
  EXPECT_EQ(cpp_namespace("credit"), "credit");
  EXPECT_EQ(cpp_namespace("log"), "log_2");
  EXPECT_EQ(cpp_namespace("std"), "std_2");
  EXPECT_EQ(cpp_namespace(""), "model");
  EXPECT_EQ(alone("log"), "log") << "a member of a record may be called so";
}

TEST(CppNames, LiteralsHoldAnyBytes) {
  EXPECT_EQ(cpp_literal("a\"b\\?"), "\"a\\\"b\\\\\\?\"sv");
  EXPECT_EQ(cpp_literal(std::string_view("\0007\xc3", 3)), "\"\\0007\\303\"sv");
}

}  // namespace
}  // namespace porter
