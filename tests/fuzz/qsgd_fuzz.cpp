// SPDX-License-Identifier: Apache-2.0
#include "decoder_target.hpp"

static const std::vector<std::string> kQsgdSpecs = {"qsgd:2", "qsgd:5", "qsgd:16"};

std::vector<std::string> fuzz_seeds() { return porter::decoder_seeds(kQsgdSpecs); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return porter::fuzz_decoder(kQsgdSpecs, data, size);
}
