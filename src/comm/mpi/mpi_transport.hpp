// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "requests.hpp"

namespace porter {

std::unique_ptr<Transport> make_mpi_transport(ControlChannel& control, Graveyard& graveyard,
                                              std::uint64_t generation, const Hosting& hosting,
                                              std::size_t max_message);

}  // namespace porter
