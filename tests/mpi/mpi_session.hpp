// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "porter/comm/mpi.hpp"

namespace porter {

/// The one of the test program; set before the tests run.
inline MpiSession* mpi_session = nullptr;

}  // namespace porter
