// SPDX-License-Identifier: Apache-2.0
#include "sent_log.hpp"

#include "porter/core/error.hpp"

namespace porter {

SentLog::SentLog(Payload packed, const std::string& source) try : packed_(std::move(packed)) {
  for_each([](std::uint32_t, std::span<const std::byte>) {});
} catch (const Error& error) {
  fail(ErrorKind::io, source, ": the messages in it are damaged: ", error.what());
}

void SentLog::add(std::uint32_t step, std::span<const std::byte> bytes) {
  put(packed_, step);
  put(packed_, static_cast<std::uint32_t>(bytes.size()));
  packed_.insert(packed_.end(), bytes.begin(), bytes.end());
}

void SentLog::forget(std::uint32_t step) {
  ByteReader in(packed_);
  std::size_t left = in.left();
  while (in.left() > 0 && in.get<std::uint32_t>() <= step) {
    in.take(in.get<std::uint32_t>());
    left = in.left();
  }
  packed_.erase(packed_.begin(), packed_.end() - static_cast<std::ptrdiff_t>(left));
}

void SentLog::for_each(const Take& take) const {
  for (ByteReader in(packed_); in.left() > 0;) {
    const auto step = in.get<std::uint32_t>();
    take(step, in.take(in.get<std::uint32_t>()));
  }
}

}  // namespace porter
