// SPDX-License-Identifier: Apache-2.0
#include "decoder_target.hpp"

static const std::vector<std::string> kRandomKSpecs = {"random_k:0.3", "random_k:1"};

std::vector<std::string> fuzz_seeds() { return porter::decoder_seeds(kRandomKSpecs); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return porter::fuzz_decoder(kRandomKSpecs, data, size);
}
