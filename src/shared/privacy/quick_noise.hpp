// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/privacy/accountant.hpp"

namespace porter {

/// As calibrate_noise_multiplier, but to about 1 % from above and far quicker where b/m is small.
/// `at_least` is an answer for fewer steps, or 0; the result is never below it.
double quick_noise_multiplier(const PrivacyEvent& event, double target, double delta,
                              double at_least);

}  // namespace porter
