// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <tuple>

#include "core/memo.hpp"
#include "porter/privacy/accountant.hpp"

namespace porter {

/// The accountant's answers, each worked out once: runs that differ in a step size only share them.
/// May be used from several threads.
class AccountantCache {
 public:
  /// calibrate_noise_multiplier, remembered.
  double noise_multiplier(const PrivacyEvent& event, double target, double delta) {
    return multipliers_.get({event, target, delta},
                            [&] { return calibrate_noise_multiplier(event, target, delta); });
  }
  /// The curve of the event, which remembers its values.
  std::shared_ptr<const EpsilonCurve> curve(const PrivacyEvent& event, double delta) {
    return curves_.get({event, delta},
                       [&] { return std::make_shared<const EpsilonCurve>(event, delta); });
  }

 private:
  Memo<std::tuple<PrivacyEvent, double, double>, double> multipliers_;
  Memo<std::tuple<PrivacyEvent, double>, std::shared_ptr<const EpsilonCurve>> curves_;
};

}  // namespace porter
