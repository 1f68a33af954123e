// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "porter/comm/transport.hpp"

namespace porter {

/// The ends of all "processes", for threads of one program: the reference that other transports are
/// tested against. The ends may outlive each other. Whether they are on one machine decides if
/// they have shared memory.
enum class Machines { one_each, one_for_all };
std::vector<std::unique_ptr<Transport>> make_in_process_transports(
    const Hosting& hosting, std::size_t max_message, Machines machines = Machines::one_each);

}  // namespace porter
