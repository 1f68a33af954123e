// SPDX-License-Identifier: Apache-2.0
// Who gets in, what happens when a process goes away, and what it finds when it comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "network.hpp"
#include "porter/core/bytes.hpp"

namespace porter {
namespace {

using namespace std::chrono_literals;

const Hosting kPair = host_in_blocks({{1}, {0}}, 2);

Payload text(const std::string& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

void expect_text(std::span<const Received> received, const std::string& words) {
  ASSERT_EQ(received.size(), 1U);
  EXPECT_TRUE(std::ranges::equal(received[0].bytes, text(words)));
}

void expect_contains(const Error& error, const std::string& part) {
  EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
}

TEST(GrpcLinks, RefusesAPeerOfAnotherRunAndNamesTheKeys) {
  auto options = network_options(2);
  options[1].facts = {{"d", "124"}, {"graph", "star"}, {"mask_seed", "5"}};
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  for (auto* end : {a.get(), b.get()}) {
    const auto error = failure_of(*end, 1);
    expect_contains(error, "another run; these differ: graph, mask_seed");
  }
}

TEST(GrpcLinks, RefusesAnotherAgentsCertificate) {
  auto options = network_options(3);
  const auto triangle = host_in_blocks({{1, 2}, {0, 2}, {0, 1}}, 3);
  // Agent 2 has a good certificate, its own, and says that it is agent 1.
  options[1].identity = key_ring().identity(2);
  options[1].peers[1].name = KeyRing::name(2);
  options[0].start_wait = 1s;
  const auto a = make_network_transport(triangle, options[0]);
  const auto liar = make_network_transport(triangle, options[1]);
  a->post(1, 0, text("secret"));
  const auto error = failure_of(*liar, 1);
  expect_contains(error, "agent-0 refuses agent-2: the certificate is not that of agent-1");
}

TEST(GrpcLinks, RefusesACertificateOfAForeignAuthority) {
  const KeyRing strangers(2);
  auto options = network_options(2);
  options[1].identity = strangers.identity(1);
  for (auto& one : options) one.start_wait = 1s;
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  expect_contains(failure_of(*a, 1), "agent-1 has been out of reach for 1");
  expect_contains(failure_of(*b, 1), "agent-0 ");
}

TEST(GrpcLinks, EndsWhenAPeerNeverComes) {
  auto options = network_options(2);
  options[0].start_wait = 300ms;
  const auto a = make_network_transport(kPair, options[0]);
  const auto error = failure_of(*a, 1);
  EXPECT_EQ(error.kind(), ErrorKind::network);
  expect_contains(error, "agent-1 has been out of reach for 0.3 s: ");
}

TEST(GrpcLinks, SaysThatAnAddressIsTaken) {
  auto options = network_options(2);
  const auto a = make_network_transport(kPair, options[0]);
  options[1].listen = options[0].listen;
  EXPECT_THROW(make_network_transport(kPair, options[1]), Error);
}

// A key without a name differs, too.
TEST(GrpcLinks, RefusesAPeerWithOneMoreFact) {
  auto options = network_options(2);
  options[1].facts[""] = "";
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  expect_contains(failure_of(*a, 1), "another run; these differ: ");
}

// The reason goes to a log and a terminal of somebody else, who need not believe it.
TEST(GrpcLinks, WhatAPeerSaysIsOneLineOfText) {
  const auto options = network_options(2);
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  b->abort("no file \xff\x1b[31m\nerror: agent-0: " + std::string(2000, 'a'));
  const std::string said = failure_of(*a, 1).what();
  EXPECT_TRUE(
      said.starts_with("process 1 (agent 1) gave up: no file \xff [31m error: agent-0: aaa"))
      << said;
  EXPECT_EQ(said.size(), 1000U);
}

TEST(GrpcLinks, RefusesAWayOfWaitingThatServesNobody) {
  ::setenv("GRPC_POLL_STRATEGY", "poll", 1);
  EXPECT_THROW(make_network_transport(kPair, network_options(2)[0]), Error);
  ::unsetenv("GRPC_POLL_STRATEGY");
}

// A process that dies between rounds comes back from its checkpoint: the neighbour waits, and sends
// again, byte for byte, what was not safe.
TEST(GrpcLinks, SendsAgainWhatARestartedProcessMisses) {
  auto options = network_options(2);
  options[1].may_restart = true;
  const auto a = make_network_transport(kPair, options[0]);
  {
    const auto b = make_network_transport(kPair, options[1]);
    for (std::uint32_t round = 1; round <= 4; ++round) {
      a->post(round, 0, text("a" + std::to_string(round)));
      b->post(round, 1, text("b" + std::to_string(round)));
      expect_text(b->collect(round), "a" + std::to_string(round));
      expect_text(a->collect(round), "b" + std::to_string(round));
      if (round == 2) b->settle(2);
    }
    b->abandon();
  }
  a->post(5, 0, text("a5"));
  options[1].resume_after = 2;
  const auto b = make_network_transport(kPair, options[1]);
  for (std::uint32_t round = 3; round <= 5; ++round) {
    b->post(round, 1, text("b" + std::to_string(round)));
    expect_text(b->collect(round), "a" + std::to_string(round));
  }
  expect_text(a->collect(5), "b5");
  auto other = std::async(std::launch::async, [&] { b->finish(); });
  a->finish();
  other.get();
}

// Both ends of a link may wait for each other; a process that comes back is told how far it was.
TEST(GrpcLinks, TellsARestartedProcessHowFarItWas) {
  auto options = network_options(2);
  options[1].may_restart = true;
  const auto a = make_network_transport(kPair, options[0]);
  {
    const auto b = make_network_transport(kPair, options[1]);
    auto met = std::async(std::launch::async, [&] { return a->meet(); });
    EXPECT_EQ(b->meet(), 0U);
    EXPECT_EQ(met.get(), 0U);
    for (std::uint32_t round = 1; round <= 3; ++round) {
      b->post(round, 1, text("b"));
      a->post(round, 0, text("a"));
      a->collect(round);
    }
    b->abandon();
  }
  const auto b = make_network_transport(kPair, options[1]);
  EXPECT_EQ(b->meet(), 3U);
  b->abandon();
  a->abandon();
}

TEST(GrpcLinks, EndsWhenALostPeerDoesNotComeBack) {
  auto options = network_options(2);
  options[0].peer_wait = 300ms;
  const auto a = make_network_transport(kPair, options[0]);
  auto b = make_network_transport(kPair, options[1]);
  a->post(1, 0, text("a"));
  b->post(1, 1, text("b"));
  b->collect(1);
  a->collect(1);
  b->abandon();
  b.reset();
  a->post(2, 0, text("a"));
  expect_contains(failure_of(*a, 2), "agent-1 has been out of reach for ");
}

}  // namespace
}  // namespace porter
