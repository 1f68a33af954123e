// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "core/simd.hpp"

namespace porter {

/// Calls test(name) with each instruction set of this processor in use, then returns to the one
/// that was in use.
template <class Test>
void for_every_simd_target(const Test& test) {
  const auto before = simd_target();
  for (const auto& target : simd_targets()) {
    SCOPED_TRACE(target);
    limit_simd(target);
    test(target);
  }
  limit_simd(before);
}

}  // namespace porter
