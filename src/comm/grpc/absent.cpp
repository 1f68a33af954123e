// SPDX-License-Identifier: Apache-2.0
// Stands for the other files of this folder in a build without gRPC.
#include "porter/comm/grpc.hpp"
#include "porter/core/error.hpp"

namespace porter {

std::unique_ptr<NetworkTransport> make_network_transport(const Hosting&, NetworkOptions) {
  fail(ErrorKind::usage,
       "this porter was built without gRPC: install libgrpc++-dev, libprotobuf-dev and "
       "protobuf-compiler-grpc, and build it again with -DPORTER_GRPC=ON");
}

}  // namespace porter
