// SPDX-License-Identifier: Apache-2.0
#include "../device_porter.hpp"
#include "porter/cuda/cuda.hpp"

namespace porter {

void use_cuda(RunParts& parts) {
  const auto request = cuda::offered(parts);
  if (auto note = cuda::advice(parts); !note.empty()) parts.facts.notes.push_back(std::move(note));
  parts.make = [request](const AlgorithmSetup& setup) {
    return cuda::make_device_porter(setup, request, std::make_unique<cuda::Device>());
  };
  parts.on_device = true;
}

}  // namespace porter
