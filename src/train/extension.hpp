// SPDX-License-Identifier: Apache-2.0
// A finished run that goes on: when is it still the same run?
#pragma once

#include <string>

#include "porter/train/assemble.hpp"

namespace porter {

/// Whether `config` is that of `before`, whose text is `before_toml`, with more rounds. Besides it
/// may state the size of noise that was calibrated.
bool has_more_rounds(const Config& before, const std::string& before_toml, const Config& config);

/// Error{usage} if noise would have another size after the rounds of `before` than during them:
/// with what more rounds at its size cost, and how to state it. `folder` is what errors call it.
void require_same_noise(const Config& before, const RunParts& now, const std::string& folder);

}  // namespace porter
