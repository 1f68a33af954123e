// SPDX-License-Identifier: Apache-2.0
// The secrets that an agent shares with its neighbours, as its folder keeps them: refused, or read
// and written back as the same bytes.
#include <cstdlib>

#include "agent/pair_keys.hpp"
#include "fuzz.hpp"

namespace {

std::string file_with(std::uint32_t pairs) {
  porter::PairsView view{{std::string(32, 'a'), 1}, {}};
  for (std::uint32_t i = 0; i < pairs; ++i) {
    auto& record = view.records.emplace_back();
    record.neighbour = 2 + i;
    record.state = porter::PairRecord::State{i % 3};
    record.own[0] = record.theirs[1] = std::byte{9};
  }
  return porter::encode_pairs(view);
}

}  // namespace

std::vector<std::string> fuzz_seeds() { return {file_with(0), file_with(1), file_with(4)}; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto view = porter::decode_pairs(std::as_bytes(std::span(data, size)), "input");
    const std::string given(reinterpret_cast<const char*>(data), size);
    if (porter::encode_pairs(view) != given) std::abort();
  } catch (const porter::Error& error) {
    if (error.kind() != porter::ErrorKind::privacy) std::abort();
    if (std::string(error.what()).find("input: ") != 0) std::abort();
  }
  return 0;
}
