// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <tuple>
#include <vector>

#include "core/memo.hpp"
#include "porter/privacy/accountant.hpp"

namespace porter {

/// The accountant's answers, each worked out once: runs that differ in a step size only share them.
/// May be used from several threads.
class AccountantCache {
 public:
  /// calibrate_noise_multiplier, remembered.
  double noise_multiplier(const PrivacyEvent& event, double target, double delta,
                          const std::vector<PrivacyEvent>& before = {}) {
    return multipliers_.get({event, target, delta, before}, [&] {
      return calibrate_noise_multiplier(event, target, delta, before);
    });
  }
  /// calibrate_noise_scale, remembered.
  double noise_scale(const std::vector<PrivacyEvent>& phases, double target, double delta,
                     const std::vector<PrivacyEvent>& before = {}) {
    return scales_.get({phases, target, delta, before},
                       [&] { return calibrate_noise_scale(phases, target, delta, before); });
  }
  /// The curve of the event, which remembers its values.
  std::shared_ptr<const EpsilonCurve> curve(const PrivacyEvent& event, double delta,
                                            const std::vector<PrivacyEvent>& before = {}) {
    return curves_.get({event, delta, before},
                       [&] { return std::make_shared<const EpsilonCurve>(event, delta, before); });
  }

 private:
  using Events = std::vector<PrivacyEvent>;
  Memo<std::tuple<PrivacyEvent, double, double, Events>, double> multipliers_;
  Memo<std::tuple<Events, double, double, Events>, double> scales_;
  Memo<std::tuple<PrivacyEvent, double, Events>, std::shared_ptr<const EpsilonCurve>> curves_;
};

}  // namespace porter
