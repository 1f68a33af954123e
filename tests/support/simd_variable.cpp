// SPDX-License-Identifier: Apache-2.0
// Every test program fails if PORTER_SIMD is no instruction set of this processor, also one that
// runs no kernel.
#include <gtest/gtest.h>

#include "core/simd.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

class SimdVariable final : public testing::Environment {
  void SetUp() override {
    try {
      simd();
    } catch (const Error& error) {
      FAIL() << error.what();
    }
  }
};

[[maybe_unused]] const auto* const kSimdVariable =
    testing::AddGlobalTestEnvironment(new SimdVariable);

}  // namespace
}  // namespace porter
