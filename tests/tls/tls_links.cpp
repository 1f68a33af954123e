// SPDX-License-Identifier: Apache-2.0
// Who gets in, what happens when a process goes away, and what it finds when it comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "comm/tls_door.hpp"
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

TEST(TlsLinks, RefusesAPeerOfAnotherRunAndNamesTheKeys) {
  auto options = network_options(2);
  options[1].facts = {{"d", "124"}, {"graph", "star"}, {"mask_seed", "5"}};
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  for (auto* end : {a.get(), b.get()}) {
    const auto error = failure_of(*end, 1);
    expect_contains(error, "another run; these differ: graph, mask_seed");
  }
}

TEST(TlsLinks, RefusesAnotherAgentsCertificate) {
  auto options = network_options(3);
  const auto triangle = host_in_blocks({{1, 2}, {0, 2}, {0, 1}}, 3);
  // Agent 2 has a good certificate, its own, and says that it is agent 1.
  options[1].identity = key_ring().identity(2);
  options[1].peers[1].name = KeyRing::name(2);
  Lines lines;
  options[1].report = lines.listener();
  const auto a = make_network_transport(triangle, options[0]);
  const auto liar = make_network_transport(triangle, options[1]);
  a->post(1, 0, text("secret"));
  lines.wait_for("agent-0 refuses agent-2: the certificate is not that of agent-1");
  a->abandon();
  liar->abandon();
}

// The certificate is good, but its owner is no neighbour here: not a byte of it is read.
TEST(TlsLinks, RefusesACertificateOfTheAuthorityThatIsNoNeighbours) {
  auto options = network_options(3);
  const auto path = host_in_blocks({{1}, {0, 2}, {1}}, 3);
  const auto triangle = host_in_blocks({{1, 2}, {0, 2}, {0, 1}}, 3);
  Lines here, there;
  options[0].report = here.listener();
  options[2].report = there.listener();
  const auto a = make_network_transport(path, options[0]);
  const auto c = make_network_transport(triangle, options[2]);
  there.wait_for("agent-0 refuses agent-2: no neighbour of agent-0");
  here.wait_for("agent-2 (127.0.0.1:");
  here.wait_for(") is refused: no neighbour of agent-0");
  a->abandon();
  c->abandon();
}

TEST(TlsLinks, RefusesACertificateOfAForeignAuthority) {
  const KeyRing strangers(2);
  auto options = network_options(2);
  options[1].identity = strangers.identity(1);
  for (auto& one : options) one.start_wait = 1s;
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  expect_contains(failure_of(*a, 1), "agent-1 has been out of reach for 1");
  expect_contains(failure_of(*b, 1), "agent-0 ");
}

TEST(TlsLinks, EndsWhenAPeerNeverComes) {
  auto options = network_options(2);
  options[0].start_wait = 300ms;
  const auto a = make_network_transport(kPair, options[0]);
  const auto error = failure_of(*a, 1);
  EXPECT_EQ(error.kind(), ErrorKind::network);
  expect_contains(error, "agent-1 has been out of reach for 0.3 s: ");
}

TEST(TlsLinks, SaysThatAnAddressIsTaken) {
  auto options = network_options(2);
  const auto a = make_network_transport(kPair, options[0]);
  options[1].listen = options[0].listen;
  EXPECT_THROW(make_network_transport(kPair, options[1]), Error);
}

// A key without a name differs, too.
TEST(TlsLinks, RefusesAPeerWithOneMoreFact) {
  auto options = network_options(2);
  options[1].facts[""] = "";
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  expect_contains(failure_of(*a, 1), "another run; these differ: ");
}

// The reason goes to a log and a terminal of somebody else, who need not believe it.
TEST(TlsLinks, WhatAPeerSaysIsOneLineOfText) {
  const auto options = network_options(2);
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  b->abort("no file \xff\x1b[31m\nerror: agent-0: " + std::string(2000, 'a'));
  const std::string said = failure_of(*a, 1).what();
  EXPECT_TRUE(said.starts_with("agent-1 gave up: no file \xff [31m error: agent-0: aaa")) << said;
  EXPECT_EQ(said.size(), 1000U + std::string("agent-1 gave up: ").size());
}

// A process that dies between rounds comes back from its checkpoint: the neighbour waits, and sends
// again, byte for byte, what was not safe.
TEST(TlsLinks, SendsAgainWhatARestartedProcessMisses) {
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
TEST(TlsLinks, TellsARestartedProcessHowFarItWas) {
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

// The neighbour has no message of it any more, but knows how far it was.
TEST(TlsLinks, ANeighbourThatRestartedTellsWhatItHadSeen) {
  auto options = network_options(2);
  options[0].seen = 7;
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  EXPECT_EQ(b->meet(), 7U);
  EXPECT_EQ(a->meet(), 0U);
  b->abandon();
  a->abandon();
}

// One that gets to the next stage first calls until the other is there, too.
TEST(TlsLinks, ANeighbourAtAnEarlierStageIsWaitedFor) {
  auto options = network_options(2);
  for (auto& each : options) each.family = "one", each.stage = 1;
  auto early = options[0];
  early.stage = 2;
  early.facts["d"] = "7";  // what is done at a stage differs, too
  const auto a = make_network_transport(kPair, early);
  {
    Lines lines;
    auto late = options[1];
    late.report = lines.listener();
    const auto b = make_network_transport(kPair, late);
    lines.wait_for("it is at another stage of the run here, number 1");
    b->abandon();
  }
  auto there = early;
  there.identity = options[1].identity;
  there.process = 1;
  there.listen = options[1].listen;
  const auto b = make_network_transport(kPair, there);
  EXPECT_EQ(a->meet(), 0U);
  EXPECT_EQ(b->meet(), 0U);
  b->abandon();
  a->abandon();
}

// One that was killed when all had been done there ends its stage; one that has done nothing there
// has lost its folder.
TEST(TlsLinks, ANeighbourAtALaterStageHasFinishedThisOne) {
  auto options = network_options(2);
  for (auto& each : options) each.family = "one", each.stage = 1;
  options[0].stage = 2;
  const auto a = make_network_transport(kPair, options[0]);
  const auto done = make_network_transport(kPair, options[1]);
  done->finish();
  auto lost = options[1];
  lost.listen = "127.0.0.1:" + std::to_string(free_port());
  const auto b = make_network_transport(kPair, lost);
  try {
    b->meet();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::privacy);
    expect_contains(error, "older than what was released");
  }
  b->abandon();
  a->abandon();
}

// Stages of other runs are other runs.
TEST(TlsLinks, AStageOfAnotherRunIsRefused) {
  auto options = network_options(2);
  for (auto& each : options) each.family = "one", each.stage = 1;
  options[1].family = "two";
  options[1].stage = 2;
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  for (auto* end : {a.get(), b.get()})
    expect_contains(failure_of(*end, 1), "another run; these differ: run.id");
}

/// A door that peers on this machine are expected at, and what knocks at it.
class TlsDoor : public testing::Test {
 protected:
  static constexpr std::size_t kPlaces = 3;

  void connect() { ends_.push_back(there_.connect(connect_to(*place_), "agent-0")); }
  // Lets the door look once, at no more than so many connections and its own.
  std::vector<Door::Guest> turn(std::size_t most) {
    polls_.clear();
    door_.watch(polls_);
    EXPECT_LE(polls_.size(), 1 + most);
    ::poll(polls_.data(), polls_.size(), 10);
    door_.look(polls_, 0);
    return door_.work();
  }
  // A peer that has been answered, while many knock, and stay or go.
  void expect_let_in_beside(bool stay) {
    connect();
    constexpr std::size_t kMost = 2 * kPlaces + 1;  // silent, answered, and one being looked at
    auto& peer = *ends_.front();
    while (!peer.has_answered()) static_cast<void>(peer.shake_hands());
    const auto has_come = [&] {
      pollfd poll{peer.fd(), POLLIN, 0};
      return ::poll(&poll, 1, 0) > 0;
    };
    while (!has_come()) ASSERT_TRUE(turn(kMost).empty());
    std::vector<FileDescriptor> silent;
    for (std::size_t i = 0; i < 40 * kPlaces; ++i) {
      silent.push_back(connect_to(*place_));
      if (!stay && silent.size() % 8 == 0) silent.clear();
      if (stay || silent.empty()) {
        ASSERT_TRUE(turn(kMost).empty());
      }
    }
    std::vector<Door::Guest> guests;
    for (int i = 0; i < 500 && guests.empty(); ++i) {
      static_cast<void>(peer.shake_hands());
      guests = turn(kMost);
    }
    ASSERT_EQ(guests.size(), 1u);
    EXPECT_EQ(guests.front().names, std::vector<std::string>{"agent-1"});
  }
  void SetUp() override { door_.expect("127.0.0.1"); }

  const TlsContext here_{key_ring().identity(0)}, there_{key_ring().identity(1)};
  const std::string address_ = "127.0.0.1:" + std::to_string(free_port());
  Door door_{here_,
             {.listen = address_,
              .patience = 60s,
              .places = kPlaces,
              .refusal = [](const auto&) { return std::string(); },
              .report = [](const std::string&) {}}};
  const AddressList place_ = look_up(parse_address(address_), true);
  std::vector<std::unique_ptr<Connection>> ends_;
  std::vector<pollfd> polls_;
};

// A neighbour that comes with another config again and again takes no more places than strangers.
TEST_F(TlsDoor, WhoeverIsTurnedAwayTakesAPlaceOfThoseThatThereAre) {
  for (std::size_t turned_away = 0; turned_away < 3 * kPlaces;) {
    if (ends_.size() == turned_away) connect();
    static_cast<void>(ends_.back()->shake_hands());
    for (auto& guest : turn(kPlaces + 1)) {
      door_.turn_away(std::move(guest.connection), guest.address, "agent-1", "another run");
      ++turned_away;
    }
  }
}

// However many knock and say nothing, a handshake that has begun comes to its end.
TEST_F(TlsDoor, SilenceTakesNoPlaceOfAHandshake) { expect_let_in_beside(true); }

// Those who go again have said nothing, either, and go at once.
TEST_F(TlsDoor, WhoeverGoesWithoutAWordTakesNoPlaceOfAHandshake) { expect_let_in_beside(false); }

// Agent 0 has a wrong address of agent 1: it says so, and the others say that it is agent 0 that
// cannot reach agent 1.
TEST(TlsLinks, NamesWhoCannotBeReachedFromWhere) {
  const auto triangle = host_in_blocks({{1, 2}, {0, 2}, {0, 1}}, 3);
  auto options = network_options(3);
  const auto dead = "127.0.0.1:" + std::to_string(free_port());
  Lines lines;
  options[0].peers[1].address = dead;
  options[0].start_wait = 1s;
  options[0].report = lines.listener();
  std::vector<std::unique_ptr<NetworkTransport>> ends;
  for (const auto& one : options) ends.push_back(make_network_transport(triangle, one));
  const auto reason = "agent-0 cannot reach agent-1 at " + dead + ": Connection refused";
  expect_contains(failure_of(*ends[0], 1), reason);
  lines.wait_for(reason);
  for (const std::size_t other : {1, 2})
    EXPECT_TRUE(std::string(failure_of(*ends[other], 1).what())
                    .starts_with("agent-0 gave up: it cannot reach agent-1"));
}

// Agent 2 is connected, and that is all. Whoever waits for it says so; who waits for somebody that
// waits blames nobody else.
TEST(TlsLinks, NamesWhoIsConnectedAndSendsNothing) {
  const auto path = host_in_blocks({{1}, {0, 2}, {1}}, 3);
  auto options = network_options(3);
  for (auto& one : options) one.round_wait = 2s;
  std::vector<std::unique_ptr<NetworkTransport>> ends;
  for (const auto& one : options) ends.push_back(make_network_transport(path, one));
  for (const std::uint32_t process : {0U, 1U}) ends[process]->post(1, process, text("x"));
  auto first = std::async(std::launch::async, [&] {
    ends[0]->collect(1);
    ends[0]->post(2, 0, text("x"));
    return std::string(failure_of(*ends[0], 2).what());
  });
  expect_contains(failure_of(*ends[1], 1),
                  "agent-2 is connected, but has sent nothing for step 1 in 2");
  const std::string told = "agent-1 gave up: it has waited 2";
  EXPECT_EQ(first.get().find(told), 0U);
  failure_of(*ends[2], 1);  // what agent 1 sent may have come before the news
  const std::string last = failure_of(*ends[2], 2).what();
  EXPECT_EQ(last.find(told), 0U);
  EXPECT_NE(last.find("in vain for agent-2"), std::string::npos) << last;
}

// A member comes back with another config: it ends, and the others wait for the right one.
TEST(TlsLinks, ARefusalEndsOnlyWhoCameWithIt) {
  auto options = network_options(2);
  options[1].may_restart = true;
  Lines lines;
  options[0].report = lines.listener();
  const auto a = make_network_transport(kPair, options[0]);
  auto b = make_network_transport(kPair, options[1]);
  a->post(1, 0, text("a1"));
  b->post(1, 1, text("b1"));
  expect_text(a->collect(1), "b1");
  b->abandon();
  b.reset();
  auto wrong = options[1];
  wrong.facts["graph"] = "star";
  b = make_network_transport(kPair, wrong);
  expect_contains(failure_of(*b, 1), "agent-0 refuses agent-1: another run; these differ: graph");
  lines.wait_for("agent-1 refuses agent-0: another run; these differ: graph");
  b.reset();
  a->post(2, 0, text("a2"));
  b = make_network_transport(kPair, options[1]);
  b->post(1, 1, text("b1"));
  b->post(2, 1, text("b2"));
  expect_text(b->collect(1), "a1");
  expect_text(b->collect(2), "a2");
  expect_text(a->collect(2), "b2");
  auto other = std::async(std::launch::async, [&] { b->finish(); });
  a->finish();
  other.get();
}

TEST(TlsLinks, FindsPeersByName) {
  auto options = network_options(2);
  for (auto& one : options)
    for (auto& peer : one.peers) peer.address.replace(0, peer.address.find(':'), "localhost");
  const auto a = make_network_transport(kPair, options[0]);
  const auto b = make_network_transport(kPair, options[1]);
  auto met = std::async(std::launch::async, [&] { return a->meet(); });
  EXPECT_EQ(b->meet(), 0U);
  met.get();
  a->abandon();
  b->abandon();
}

TEST(TlsLinks, EndsWhenALostPeerDoesNotComeBack) {
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
