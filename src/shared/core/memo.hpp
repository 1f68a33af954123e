// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace porter {

/// Values that are computed when they are first asked for. Who asks for one that another thread is
/// computing waits for it; different ones are computed at the same time. One whose computation
/// throws is computed again by the next who asks.
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

}  // namespace porter
