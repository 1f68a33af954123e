// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "porter/data/dataset.hpp"

namespace porter {

/// Rows of each class; empty for regression. The second form counts only the given rows. Records
/// that count for nothing are of no class, here and below.
std::vector<std::size_t> class_counts(const Dataset& data);
std::vector<std::size_t> class_counts(const Dataset& data, std::span<const std::uint32_t> rows);

/// The same with the weights of rows.
std::vector<double> class_weights(const Dataset& data);

/// The commonest class by weight (the smallest of several), and nothing for regression.
std::optional<std::size_t> majority_class(const Dataset& data);

/// The accuracy on `data` of always answering `class_number`.
double class_rate(const Dataset& data, std::size_t class_number);

/// Of a regression: sum w (y - mean y)^2 over the records that count and their targets, w their
/// weights, each target with its own weighted mean. Exactly 0 where all records have the same
/// targets.
double target_spread(const Dataset& data);

/// The share of entries that are not zero.
double density(const Dataset& data);

}  // namespace porter
