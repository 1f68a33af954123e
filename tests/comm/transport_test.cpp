// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/transport.hpp"

#include "in_process.hpp"
#include "transport_contract.hpp"

namespace porter {
namespace {

const TransportKind kInProcess{
    .name = "InProcess",
    .process_counts = {1, 2, 3, 5},
    .run = [](const Hosting& hosting, const ProcessBody& body) {
      run_threads(make_in_process_transports(hosting, kContractMaxMessage), body);
    }};

INSTANTIATE_TEST_SUITE_P(InProcess, TransportContract, testing::Values(kInProcess));

}  // namespace
}  // namespace porter
