// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "porter/train/train.hpp"

namespace porter {

/// The text of summary.json. Numbers that are not finite become null.
std::string summary_json(const Trainer& trainer, const std::string& name, TrainStatus status,
                         const std::optional<MetricsRow>& last);

/// The text of privacy.json: what is, and is not, guaranteed, for machines.
std::string privacy_json(const Trainer& trainer);

}  // namespace porter
