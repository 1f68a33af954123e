// SPDX-License-Identifier: Apache-2.0
#include "../device_queue.hpp"
#include "../make_method.hpp"
#include "porter/cuda/cuda.hpp"

namespace porter {

std::shared_ptr<DeviceQueue> make_device_queue() { return std::make_shared<DeviceQueue>(); }

std::string use_cuda(RunParts& parts, const std::shared_ptr<DeviceQueue>& queue) {
  const auto request = cuda::offered(parts);
  parts.make = [request, queue](const AlgorithmSetup& setup) {
    const auto make = [&](std::shared_ptr<void> lease) {
      auto device = std::make_unique<cuda::Device>();
      device->hold(std::move(lease));
      return cuda::make_on_device(setup, request, std::move(device));
    };
    return queue ? queue->make(make) : make(nullptr);
  };
  parts.on_device = true;
  return cuda::advice(parts);
}

}  // namespace porter
