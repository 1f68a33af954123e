// SPDX-License-Identifier: Apache-2.0
#include "fuzz.hpp"
#include "porter/core/error.hpp"
#include "privacy/ledger_format.hpp"

namespace {

const porter::LedgerHeader kHeader{.run_id = "run",
                                   .agent = 3,
                                   .sampler = "fixed",
                                   .adjacency = "replace",
                                   .records = 100,
                                   .batch = 2,
                                   .noise_stddev = 0.5,
                                   .clip = 1,
                                   .delta = 1e-5,
                                   .epsilon = 1};

std::string ledger_with(int charges) {
  auto bytes = porter::encode_ledger_header(kHeader);
  porter::LedgerView view;
  view.header = kHeader;
  view.last_crc = porter::stored_crc(bytes);
  for (int i = 0; i < charges; ++i) {
    auto record = porter::torn_record(view);
    record.flags = i == 1 ? porter::kTornFlag : 0;
    const auto encoded = porter::encode_ledger_record(record);
    porter::count_record(view, record, porter::stored_crc(encoded));
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::string> fuzz_seeds() { return {ledger_with(0), ledger_with(1), ledger_with(5)}; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    porter::decode_ledger(std::as_bytes(std::span(data, size)), "input");
  } catch (const porter::Error&) {
  }
  return 0;
}
