// SPDX-License-Identifier: Apache-2.0
#include "porter/core/choice.hpp"

#include <gtest/gtest.h>

namespace porter {
namespace {

enum class Fruit { apple, pear, plum };

}  // namespace

template <>
struct Choices<Fruit> {
  static constexpr Choice<Fruit> table[] = {
      {"apple", Fruit::apple}, {"williams-pear", Fruit::pear}, {"plum", Fruit::plum}};
};

namespace {

TEST(Choice, EveryWordReadsBackAsItsValue) {
  for (const auto fruit : all_choices<Fruit>())
    EXPECT_EQ(parse_choice<Fruit>(choice_text(fruit)), fruit);
  EXPECT_EQ(find_choice<Fruit>("williams-pear"), Fruit::pear);
  EXPECT_EQ(find_choice<Fruit>("pear"), std::nullopt);
}

TEST(Choice, AnUnknownWordIsAnErrorThatListsTheOthers) {
  const auto error = [](auto parse) -> std::string {
    try {
      parse();
    } catch (const Error& found) {
      return found.what();
    }
    return "";
  };
  EXPECT_EQ(error([] { parse_choice<Fruit>("pea"); }),
            "expected one of apple, williams-pear, plum; found \"pea\"");
  constexpr Fruit kSome[] = {Fruit::plum, Fruit::apple};
  EXPECT_EQ(error([&] { parse_choice("williams-pear", std::span<const Fruit>(kSome)); }),
            "expected one of plum, apple; found \"williams-pear\"");
}

}  // namespace
}  // namespace porter
