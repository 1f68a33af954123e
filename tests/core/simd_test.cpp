// SPDX-License-Identifier: Apache-2.0
#include "core/simd.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "every_simd_target.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

// The best, unless the whole program is tested on another.
std::string expected_target() {
  const char* name = std::getenv("PORTER_SIMD");
  return name != nullptr && *name != '\0' ? name : simd_targets().front();
}

TEST(Simd, TheBestOrThatOfTheVariableIsInUseUntilALimitIsSet) {
  ASSERT_FALSE(simd_targets().empty());
  EXPECT_EQ(simd_target(), expected_target());
  std::vector<std::string> used;
  for_every_simd_target([&](const std::string& target) {
    EXPECT_EQ(simd_target(), target);
    used.push_back(simd_target());
  });
  EXPECT_EQ(used, simd_targets());
  EXPECT_EQ(simd_target(), expected_target());
}

TEST(Simd, AnUnknownNameIsRefusedWithTheKnownOnes) {
  for (const std::string name : {"", "AVX2", "avx9000"}) {
    SCOPED_TRACE(name);
    try {
      limit_simd(name);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      const std::string text = error.what();
      EXPECT_NE(text.find('"' + name + '"'), std::string::npos) << text;
      for (const auto& known : simd_targets())
        EXPECT_NE(text.find(known), std::string::npos) << text;
    }
    EXPECT_EQ(simd_target(), expected_target());
  }
}

}  // namespace
}  // namespace porter
