// SPDX-License-Identifier: Apache-2.0
// Hosts that have names: some resolvers are slow, and some names have several addresses.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <future>
#include <latch>
#include <string_view>

#include "comm/tls_connection.hpp"
#include "network.hpp"

namespace {

std::latch slow_asked(1), slow_released(1), slow_answered(1);

}  // namespace

// The library finds this one first.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  static const auto real =
      reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool numeric = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
  const std::string_view name = node == nullptr || numeric ? "" : node;
  if (name == "slow.test") {
    slow_asked.count_down();
    slow_released.wait();
    slow_answered.count_down();
    return EAI_AGAIN;
  }
  if (name != "two.test") return real(node, service, hints, found);
  // An address of nobody (RFC 5737), then one of this machine.
  const int code = real("203.0.113.1", service, hints, found);
  return code != 0 ? code : real("127.0.0.1", service, hints, &(*found)->ai_next);
}

namespace porter {
namespace {

using namespace std::chrono_literals;

TEST(TlsNames, ListensAtTheFirstAddressThatThisMachineHas) {
  const auto port = std::to_string(free_port());
  EXPECT_GE(listen_on("two.test:" + port).get(), 0);
  try {
    listen_on("203.0.113.1:" + port);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              "cannot listen on 203.0.113.1:" + port + ": Cannot assign requested address");
  }
}

TEST(TlsNames, TheEndDoesNotWaitForAResolver) {
  auto options = network_options(2);
  options[0].peers[1].address = "slow.test:7400";
  auto end = make_network_transport(host_in_blocks({{1}, {0}}, 2), options[0]);
  slow_asked.wait();
  end->abandon();
  auto gone = std::async(std::launch::async, [&] { end.reset(); });
  EXPECT_EQ(gone.wait_for(20s), std::future_status::ready);
  slow_released.count_down();
  slow_answered.wait();
}

}  // namespace
}  // namespace porter
