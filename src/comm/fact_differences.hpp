// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace porter {

/// The keys whose values differ or that only one side has, for a refusal: "algorithm.step,
/// data.classes ([0, 1] here, "0..3" there)"; empty where there are none. Values are shown where
/// they are few and public and say what to mend: classes, features and the model's size.
std::string fact_differences(const std::map<std::string, std::string>& ours,
                             const std::map<std::string, std::string>& theirs);

}  // namespace porter
