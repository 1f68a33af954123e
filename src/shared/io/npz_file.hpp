// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/file.hpp"
#include "porter/io/npy.hpp"

namespace porter {

/// The archive into a file that is being written; copies none of the arrays.
void write_npz(FileWriter& file, const NpzParts& arrays);

}  // namespace porter
