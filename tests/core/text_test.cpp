// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <gtest/gtest.h>

#include "grouped_locale.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

TEST(Text, ControlCharactersBecomeSpaces) {
  EXPECT_EQ(without_controls("a\r\nb\x1b[31m\x7f"), "a  b [31m ");
  EXPECT_EQ(without_controls("na\xc3\xafve"), "na\xc3\xafve");
}

TEST(Text, ShortestReadsBack) {
  for (const double value : {0.1, 1e300, -3.0, 1.0 / 3})
    EXPECT_EQ(parse_number<double>(shortest(value)), value);
  EXPECT_EQ(shortest(2), "2.0");
}

TEST(Text, OfErrorsDoesNotDependOnTheLocale) {
  const GroupedLocale locale;
  EXPECT_EQ(concat(1234567, ' ', 2.5), "1234567 2.5");
}

}  // namespace
}  // namespace porter
