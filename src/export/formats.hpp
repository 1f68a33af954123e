// SPDX-License-Identifier: Apache-2.0
// One function per format.
#pragma once

#include <string>

#include "export/export.hpp"
#include "flat_model.hpp"

namespace porter {

std::string to_onnx(const SavedModel& saved, const FlatModel& flat, bool wide);
std::string to_cpp_header(const SavedModel& saved, const FlatModel& flat, const std::string& space);
std::string to_coefficients(const SavedModel& saved, const FlatModel& flat);

}  // namespace porter
