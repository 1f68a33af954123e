// SPDX-License-Identifier: Apache-2.0
#include "../make_method.hpp"
#include "porter/cuda/cuda.hpp"

namespace porter {

std::string use_cuda(RunParts& parts) {
  const auto request = cuda::offered(parts);
  parts.make = [request](const AlgorithmSetup& setup) {
    return cuda::make_on_device(setup, request, std::make_unique<cuda::Device>());
  };
  parts.on_device = true;
  return cuda::advice(parts);
}

}  // namespace porter
