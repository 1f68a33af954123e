// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_porter.hpp"
#include "device_sgd.hpp"
#include "device_sweep.hpp"
#include "device_tracking.hpp"

namespace porter::cuda {

/// PORTER and its kin: by DevicePorter where it has the messages, else by the one that has all.
inline std::unique_ptr<Algorithm> make_tracking(const AlgorithmSetup& setup, const Request& request,
                                                std::unique_ptr<Device> device) {
  const auto name = split_spec(request.compressor).name;
  const bool plain = (name == "random_k" || name == "identity") && setup.mask != Mask::sweep &&
                     setup.gradients.momentum == 1;
  if (plain) return make_device_porter(setup, request, std::move(device));
  if (setup.precision == Precision::narrow)
    return std::make_unique<DeviceTracking<float>>(setup, request, std::move(device));
  return std::make_unique<DeviceTracking<double>>(setup, request, std::move(device));
}

/// The method of a request that is offered.
inline std::unique_ptr<Algorithm> make_on_device(const AlgorithmSetup& setup,
                                                 const Request& request,
                                                 std::unique_ptr<Device> device) {
  const auto& name = request.algorithm;
  if (name == "choco-sgd")
    return std::make_unique<DeviceSgd>(DeviceSgd::Kind::choco, setup, request, std::move(device));
  if (name == "dsgd" || name == "dp-dsgd")
    return std::make_unique<DeviceSgd>(DeviceSgd::Kind::dsgd, setup, request, std::move(device));
  if (name == "porter-sweep")
    return std::make_unique<DevicePorterSweep>(setup, request, std::move(device));
  if (name == "sweep-led")
    return std::make_unique<DeviceSweepLed>(setup, request, std::move(device));
  auto tracking = setup;
  if (name == "dsgt") tracking.gamma = 1;
  return make_tracking(tracking, request, std::move(device));
}

}  // namespace porter::cuda
