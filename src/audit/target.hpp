// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "audit/audit.hpp"

namespace porter {

/// How an agent's gradients are made under the setting, with its fault, from the setting's seed.
GradientOptions seeded_options(const AuditSetting& setting);
/// The same with secret noise where that is promised; its tables take milliseconds to build.
GradientOptions planted_options(const AuditSetting& setting, std::size_t dim);

/// The subject's algorithm on its network, for this model and these data.
std::unique_ptr<Algorithm> audited_algorithm(const AuditSubject& subject, const Model& model,
                                             const Dataset& data, const GradientOptions& options,
                                             ThreadPool& pool);
/// The bytes sent after each of a few rounds of it.
std::vector<std::uint64_t> message_bytes(const AuditSubject& subject, const Model& model,
                                         const Dataset& data, const GradientOptions& options,
                                         ThreadPool& pool);

/// A seed of its own for each run of the audit.
std::uint64_t run_seed(std::uint64_t seed, std::size_t run, bool with_canary);

/// Checks the setting, and times what finds the checks of a rung.
AuditRung climb_rung(const AuditSetting& setting, int number, const char* title,
                     const std::function<std::vector<AuditCheck>()>& find_checks);

/// The progress of the first or the second half of some work.
AuditProgress half_of(const AuditProgress& progress, bool second);

}  // namespace porter
