// SPDX-License-Identifier: Apache-2.0
#include "message_sizes.hpp"

namespace porter {

std::vector<std::uint64_t> message_bytes(const GradientOptions& options,
                                         const AuditSubject& subject, const Model& model,
                                         const Dataset& data, ThreadPool& pool) {
  const auto algorithm =
      make_algorithm(subject.algorithm, {.problem = {model, data, subject.problem.agents},
                                         .network = subject.network,
                                         .compressor = subject.compressor,
                                         .pool = pool,
                                         .start = std::vector<double>(model.dim(), 0.0),
                                         .eta = subject.eta,
                                         .gamma = subject.gamma,
                                         .gradients = options});
  std::vector<std::uint64_t> bytes;
  for (std::uint32_t round = 1; round <= 3; ++round) {
    algorithm->step(round);
    bytes.push_back(algorithm->traffic().message_bytes);
  }
  return bytes;
}

}  // namespace porter
