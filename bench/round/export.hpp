// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "setting.hpp"

namespace porter::bench {

/// Writes a setting for programs in other languages, as plain little-endian arrays and
/// `problem.json` with their shapes:
///   features.f32  rows x features, dense, agent after agent        labels.f32  rows
///   mixing.f64    n x n                                            start.f64   d
/// and what is drawn in rounds 1 .. T, so that another program can follow the same rounds:
///   batches.u32   T x n x b     masks.u32  T x {V, X} x n x k      noise.f32   T x n x d
void export_setting(Setting& setting, std::uint32_t rounds, const std::filesystem::path& folder);

/// n x d, double.
void export_rows(const Rows& rows, const std::filesystem::path& file);

}  // namespace porter::bench
