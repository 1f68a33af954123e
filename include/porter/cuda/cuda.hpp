// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "porter/train/assemble.hpp"

namespace porter {

class DeviceQueue;

/// The rounds of the run are computed by the first CUDA device, with the bits that the processor
/// gives; checkpoints go from one to the other. Between `assemble` and the trainer, in programs
/// that link porter::cuda. Error{usage} names what the engine does not offer, or says that this
/// build is without CUDA. The trainer then is an Error{io} where there is no device, or no room on
/// it; with a queue, no room where no other run of the queue has any either: one waits until
/// another has ended. Returns what the user should know; empty: nothing.
std::string use_cuda(RunParts& parts, const std::shared_ptr<DeviceQueue>& queue = nullptr);

/// For runs of one process that share the device, each on a thread of its own.
std::shared_ptr<DeviceQueue> make_device_queue();

}  // namespace porter
