// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>

#include "porter/comm/transport.hpp"

namespace porter {

/// Memory of the ranks of one machine, `bytes` for each of their agents. All ranks call it; it
/// blocks until they have. Nothing if there is no room for it, or for a rank alone on its machine.
std::shared_ptr<SharedMemory> make_shared_window(const Hosting& hosting, std::size_t bytes);

}  // namespace porter
