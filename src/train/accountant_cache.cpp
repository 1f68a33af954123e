// SPDX-License-Identifier: Apache-2.0
#include "train/accountant_cache.hpp"

namespace porter {

AccountantCache::EventKey AccountantCache::key_of(const PrivacyEvent& event, double delta) {
  return {event.sampler, event.adjacency,        event.level, event.records, event.batch,
          event.rate,    event.noise_multiplier, event.steps, delta};
}

double AccountantCache::noise_multiplier(const PrivacyEvent& event, double target, double delta) {
  return multipliers_.get({key_of(event, delta), target},
                          [&] { return calibrate_noise_multiplier(event, target, delta); });
}

std::shared_ptr<const EpsilonCurve> AccountantCache::curve(const PrivacyEvent& event,
                                                           double delta) {
  return curves_.get(key_of(event, delta),
                     [&] { return std::make_shared<const EpsilonCurve>(event, delta); });
}

}  // namespace porter
