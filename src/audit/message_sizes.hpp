// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "audit/audit.hpp"

namespace porter {

/// The bytes sent after each of a few rounds of the subject's algorithm, network and compressor on
/// this model and these data.
std::vector<std::uint64_t> message_bytes(const GradientOptions& options,
                                         const AuditSubject& subject, const Model& model,
                                         const Dataset& data, ThreadPool& pool);

}  // namespace porter
