// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/train/assemble.hpp"

namespace porter::cuda {

/// What the engine knows of a run beside the setup of its method.
struct Request {
  ModelOptions model;
  std::size_t scores = 0;                                        ///< classes
  std::string algorithm = "porter-dp", compressor = "identity";  ///< as a config names them
};

/// Error{usage} naming the key of the config that the engine does not offer, and what it has.
Request offered(const RunParts& parts);

/// What the user should know; empty: nothing.
std::string advice(const RunParts& parts);

}  // namespace porter::cuda
