// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "porter/core/bytes.hpp"

namespace porter {

/// Messages that neighbours may ask for again, in the order of their steps. They lie as a
/// checkpoint keeps them, one after the other, each as step (4 bytes), length (4) and bytes: there
/// are hundreds of them, and nothing is copied when they are written.
class SentLog {
 public:
  SentLog() = default;
  /// As packed() was. Error{io} that names `source` if they are damaged.
  SentLog(Payload packed, const std::string& source);

  void add(std::uint32_t step, std::span<const std::byte> bytes);
  /// Those up to this step.
  void forget(std::uint32_t step);
  using Take = std::function<void(std::uint32_t step, std::span<const std::byte> bytes)>;
  void for_each(const Take& take) const;

  bool empty() const { return packed_.empty(); }
  /// Of one that is not empty.
  std::uint32_t first_step() const { return ByteReader(packed_).get<std::uint32_t>(); }
  const Payload& packed() const { return packed_; }

 private:
  Payload packed_;
};

}  // namespace porter
