// SPDX-License-Identifier: Apache-2.0
#include "porter/privacy/batch_sampler.hpp"

#include "porter/core/error.hpp"
#include "privacy/secure_noise.hpp"

namespace porter {

BatchSampler::BatchSampler(Sampler kind, std::size_t records, std::size_t batch)
    : kind_(batch == records ? Sampler::full : kind), records_(records), batch_(batch) {
  require(batch >= 1 && batch <= records, ErrorKind::usage, "expected a batch of 1 to the ",
          records, " samples that an agent holds, found ", batch);
}

double BatchSampler::sensitivity(Adjacency adjacency, double clip) const {
  const std::size_t terms = kind_ == Sampler::poisson ? records_ : batch_;
  return records_moved(adjacency) * clip / static_cast<double>(batch_) +
         2 * averaging_error(clip, terms, batch_);
}

PrivacyEvent BatchSampler::event(Adjacency adjacency, double sigma, double clip,
                                 std::uint64_t steps) const {
  return {.sampler = kind_,
          .adjacency = adjacency,
          .records = records_,
          .batch = batch_,
          .rate = std::nullopt,
          .noise_multiplier = noise_multiplier(sigma, batch_, clip),
          .steps = steps};
}

PrivacyEvent BatchSampler::secure_event(Adjacency adjacency, double sigma, double clip,
                                        std::uint64_t steps) const {
  constexpr double kGridCost = 1.1e-3;
  return event(adjacency, sigma / (1 + kGridCost), clip, steps);
}

}  // namespace porter
