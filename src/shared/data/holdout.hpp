// SPDX-License-Identifier: Apache-2.0
// Rows that become the test set of data that has none.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "porter/data/load.hpp"

namespace porter {

/// Error{usage} if a test set is to be left out that the data does not have. `place` stands before
/// the text.
void check_without_test(const DataOptions& options, std::string_view place);

/// Error{usage} if the data has a test set already, or both a share and a fold are asked for;
/// Error{privacy} where there is a guarantee to keep. `place` stands before the text.
void check_holdout(const DataOptions& options, std::string_view place);

/// The rows that options.holdout or options.fold hold out, ascending. All rows are put in one
/// order: shuffled, and for classes then sorted by class, stable. Of this order fold i of k takes
/// the places i - 1, i - 1 + k, ..., and a share h every place p with round(h (p + 1)) >
/// round(h p). So every class has its share, up to one row, and the folds are a partition.
/// Error{usage} if one of both sets would be empty.
std::vector<std::uint32_t> held_out_rows(const Dataset& data, const DataOptions& options);

/// Moves them from the training set to the test set; to nowhere with options.test_instead.
void hold_out(const DataOptions& options, DataPair& pair);

}  // namespace porter
