// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "porter/privacy/accountant.hpp"

namespace porter {

/// Values that are computed when they are first asked for. Who asks for one that another thread is
/// computing waits for it; different ones are computed at the same time.
template <class Key, class Value>
class Memo {
 public:
  template <class Compute>
  Value get(const Key& key, const Compute& compute) {
    const auto slot = find(key);
    const std::lock_guard lock(slot->mutex);
    if (!slot->value) slot->value.emplace(compute());
    return *slot->value;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::optional<Value> value;
  };
  std::shared_ptr<Slot> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    auto& slot = slots_[key];
    if (!slot) slot = std::make_shared<Slot>();
    return slot;
  }

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Slot>> slots_;
};

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
