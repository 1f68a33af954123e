// SPDX-License-Identifier: Apache-2.0
#include "decoder_target.hpp"

static const std::vector<std::string> kTopKSpecs = {"top_k:0.3", "top_k:1"};

std::vector<std::string> fuzz_seeds() { return porter::decoder_seeds(kTopKSpecs); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return porter::fuzz_decoder(kTopKSpecs, data, size);
}
