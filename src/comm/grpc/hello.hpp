// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "link.pb.h"
#include "porter/comm/grpc.hpp"

namespace porter {

/// What TLS knows of the other end of a connection.
struct Caller {
  bool authenticated = false;
  std::vector<std::string> names;  ///< in its certificate
};

/// The hello that another process opens its link with.
link::v1::Up make_hello(const NetworkOptions& options);

/// Whether what a caller says first is the hello of a neighbour, who is who it says it is and takes
/// part in the same run. Else why not, in words that it may be told.
grpc::Status examine_hello(const link::v1::Up& first, const Caller& caller,
                           const NetworkOptions& options, const Hosting& hosting);

/// What another process says, as far as it may enter a log or an error.
std::string cited(const std::string& said);

}  // namespace porter
