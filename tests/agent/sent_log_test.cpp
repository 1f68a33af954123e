// SPDX-License-Identifier: Apache-2.0
#include "agent/sent_log.hpp"

#include <gtest/gtest.h>

#include <map>

#include "porter/core/error.hpp"

namespace porter {
namespace {

Payload some_bytes(std::uint32_t size) {
  Payload bytes;
  for (std::uint32_t i = 0; i < size; ++i) put(bytes, static_cast<std::uint8_t>(255 - i));
  return bytes;
}

std::map<std::uint32_t, Payload> all_of(const SentLog& log) {
  std::map<std::uint32_t, Payload> messages;
  log.for_each([&](std::uint32_t step, std::span<const std::byte> bytes) {
    messages[step] = Payload(bytes.begin(), bytes.end());
  });
  return messages;
}

TEST(SentLog, KeepsWhatWasAddedAfterTheStepsThatAreForgotten) {
  for (std::uint32_t forgotten = 0; forgotten < 12; ++forgotten) {
    SCOPED_TRACE(forgotten);
    SentLog log;
    std::map<std::uint32_t, Payload> expected;
    for (std::uint32_t step = 3; step < 10; ++step) {
      log.add(step, some_bytes(7 * (step % 3)));
      if (step > forgotten) expected[step] = some_bytes(7 * (step % 3));
    }
    log.forget(forgotten);
    EXPECT_EQ(all_of(log), expected);
    EXPECT_EQ(log.empty(), expected.empty());
    if (!log.empty()) {
      EXPECT_EQ(log.first_step(), expected.begin()->first);
    }
    EXPECT_EQ(all_of(SentLog(log.packed(), "file")), expected);
  }
}

TEST(SentLog, RefusesWhatIsCutOff) {
  SentLog log;
  log.add(1, some_bytes(3));
  log.add(2, some_bytes(5));
  const auto& packed = log.packed();
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const Payload part(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size));
    if (size == 0 || size == 11) {
      EXPECT_NO_THROW(SentLog(part, "file")) << size;
      continue;
    }
    try {
      SentLog(part, "the file");
      ADD_FAILURE() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_EQ(std::string(error.what()).find("the file: the messages in it are damaged"), 0U);
    }
  }
}

}  // namespace
}  // namespace porter
