// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>

#include "porter/core/error.hpp"
#include "porter/train/assemble.hpp"

namespace porter {

/// What `build` returns; Error{io} naming what makes the run so large if memory runs out.
template <class Build>
auto within_memory(const RunFacts& facts, Build build) {
  try {
    return build();
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::io, "out of memory: no room for ", facts.agents,
         " agents (network.agents) with a model of ", facts.dim, " parameters (model)");
  }
}

}  // namespace porter
