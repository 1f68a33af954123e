// SPDX-License-Identifier: Apache-2.0
// Stands for engine.cu in a build without CUDA.
#include "porter/core/error.hpp"
#include "porter/cuda/cuda.hpp"

namespace porter {

std::shared_ptr<DeviceQueue> make_device_queue() { return nullptr; }

std::string use_cuda(RunParts&, const std::shared_ptr<DeviceQueue>&) {
  fail(
      ErrorKind::usage,
      "run.engine = \"cuda\": this porter was built without CUDA: install the CUDA toolkit (nvcc), "
      "and build it again with -DPORTER_CUDA=ON");
}

}  // namespace porter
