// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"
#include "transport_contract.hpp"

namespace porter {
namespace {

static_assert(kMaxMessage == kContractMaxMessage);

const TransportKind kTls{
    .name = "Tls",
    .process_counts = {1, 2, 3, 5},
    .describe = [](const Hosting&, std::uint32_t p) { return KeyRing::name(p); },
    .run =
        [](const Hosting& hosting, const ProcessBody& body) {
          std::vector<std::unique_ptr<Transport>> ends;
          for (auto& options : network_options(hosting.processes()))
            ends.push_back(make_network_transport(hosting, std::move(options)));
          run_threads(std::move(ends), body);
        }};

INSTANTIATE_TEST_SUITE_P(Tls, TransportContract, testing::Values(kTls));

}  // namespace
}  // namespace porter
