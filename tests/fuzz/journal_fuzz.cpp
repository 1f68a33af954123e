// SPDX-License-Identifier: Apache-2.0
// A journal of releases: refused, or records that lie inside the input.
#include <cstdlib>

#include "agent/file_journal.hpp"
#include "fuzz.hpp"
#include "porter/core/bytes.hpp"

namespace {

std::string journal_with(std::uint32_t rounds) {
  porter::Payload header;
  for (const char c : std::string("porterj2") + std::string(32, 'a')) porter::put(header, c);
  porter::put(header, std::uint32_t{1});
  porter::put(header, porter::crc32(header));
  std::string text(reinterpret_cast<const char*>(header.data()), header.size());
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    porter::Payload record;
    porter::put(record, round);
    porter::put(record, std::uint32_t{2});
    porter::put(record, porter::crc32(record));
    porter::put(record, 0.5);
    porter::put(record, -1.25);
    porter::put(record, porter::crc32(std::span(record).subspan(12)));
    text.append(reinterpret_cast<const char*>(record.data()), record.size());
  }
  return text;
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {journal_with(0), journal_with(1), journal_with(4)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto view = porter::decode_journal(std::as_bytes(std::span(data, size)), "input");
    if (view.end > size) std::abort();
  } catch (const porter::Error&) {
  }
  return 0;
}
