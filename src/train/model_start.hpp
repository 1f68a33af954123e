// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "porter/train/assemble.hpp"

namespace porter {

/// Whether algorithm.start is model:FILE.
bool starts_from_model(const Config& config);

/// x_mean of that file, or of model.npz in that folder. Error{usage} names what differs between its
/// card and the run: model, classes, scaling, schema; Error{io} where it is no model. Adds to the
/// run's notes what the model has cost the records behind it.
std::vector<double> model_start(RunParts& parts);

}  // namespace porter
