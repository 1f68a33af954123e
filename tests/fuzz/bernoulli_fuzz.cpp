// SPDX-License-Identifier: Apache-2.0
#include "decoder_target.hpp"

static const std::vector<std::string> kBernoulliSpecs = {"bernoulli:0.3"};

std::vector<std::string> fuzz_seeds() { return porter::decoder_seeds(kBernoulliSpecs); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return porter::fuzz_decoder(kBernoulliSpecs, data, size);
}
