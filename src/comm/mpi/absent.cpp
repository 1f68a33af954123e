// SPDX-License-Identifier: Apache-2.0
// Stands for the other files of this folder in a build without MPI.
#include "porter/comm/mpi.hpp"
#include "porter/core/error.hpp"

namespace porter {

std::unique_ptr<MpiSession> make_mpi_session(MpiOptions) {
  fail(ErrorKind::usage,
       "this porter was built without MPI: install libopenmpi-dev and openmpi-bin, and build it "
       "again with -DPORTER_MPI=ON");
}

}  // namespace porter
