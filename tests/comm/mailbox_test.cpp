// SPDX-License-Identifier: Apache-2.0
#include "comm/mailbox.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace porter {
namespace {

using namespace std::chrono_literals;
using Kind = Mailbox::Parcel::Kind;

// This process is 0, its neighbour 1.
const Hosting kPair = host_in_blocks({{1}, {0}}, 2);

Mailbox::Options patient() { return {.start_wait = 1h, .peer_wait = 1h}; }

struct Box : Mailbox {
  explicit Box(Options options = patient()) : Mailbox(kPair, 0, {"here", "there"}, options) {}

  void post_rounds(std::uint32_t first, std::uint32_t last) {
    for (auto round = first; round <= last; ++round)
      post(round, 0, Payload(round, static_cast<std::byte>(round)));
  }
  /// The rounds of the next parcels, which must be messages, as many as there are.
  std::vector<std::uint32_t> send(Cursor& cursor, std::size_t count) {
    std::vector<std::uint32_t> rounds;
    for (std::size_t i = 0; i < count; ++i) {
      const auto parcel = next(1, cursor);
      EXPECT_TRUE(parcel && parcel->kind == Kind::message);
      EXPECT_EQ(*parcel->bytes, Payload(parcel->round, static_cast<std::byte>(parcel->round)));
      rounds.push_back(parcel->round);
    }
    return rounds;
  }
};

template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Mailbox, SendsAgainFromTheRoundThatIsWanted) {
  Box box;
  box.post_rounds(1, 5);
  Mailbox::Cursor first, second;
  box.begin_sending(1, 1, first);
  EXPECT_EQ(box.send(first, 4), (std::vector<std::uint32_t>{1, 2, 3, 4}));
  // The connection breaks; the neighbour has 1 and 2.
  box.break_off(1, first);
  EXPECT_FALSE(box.next(1, first));
  box.begin_sending(1, 3, second);
  EXPECT_EQ(box.send(second, 3), (std::vector<std::uint32_t>{3, 4, 5}));
}

// A restarted process hears what the others have seen of it before it sends anything.
TEST(Mailbox, MeetsAllNeighboursAndKnowsTheLastRoundThatOneOfThemHolds) {
  const Hosting path = host_in_blocks({{1}, {0, 2}, {1}}, 3);
  auto options = patient();
  options.resume_after = 2;
  Mailbox box(path, 1, {"a", "b", "c"}, options);
  Mailbox::Cursor to_a, to_c;
  box.begin_sending(0, 8, to_a);
  auto met = std::async(std::launch::async, [&] { return box.meet(); });
  EXPECT_EQ(met.wait_for(50ms), std::future_status::timeout);
  box.begin_sending(2, 4, to_c);
  EXPECT_EQ(met.get(), 7U);
}

TEST(Mailbox, NamesWhoDoesNotAnswer) {
  auto options = patient();
  options.start_wait = 20ms;
  Box box(options);
  box.connected(1);  // it comes, but is not found at its address
  box.note_failure(1, "connection refused");
  EXPECT_EQ(refusal([&] { box.meet(); }),
            "there has not answered within 0.02 s: connection refused");
}

TEST(Mailbox, KeepsWhatIsNotSettledAndForgetsTheRest) {
  Box box;
  box.post_rounds(1, 5);
  Mailbox::Cursor cursor;
  box.begin_sending(1, 1, cursor);
  box.send(cursor, 5);
  box.acknowledged(1, 3, false, false);
  box.begin_sending(1, 4, cursor);
  EXPECT_EQ(box.send(cursor, 2), (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(refusal([&] { box.begin_sending(1, 3, cursor); }),
            "there asks for round 3 again; it said before that all up to round 3 is safe");
}

TEST(Mailbox, DropsWhatCameBeforeAndRefusesGapsAndStrangers) {
  auto options = patient();
  options.may_restart = true;
  EXPECT_EQ(refusal([&] { Box(options).deliver(1, 7, 1, {}); }),
            "there sent round 7 of agent 1 after round 0");
  options.resume_after = 6;
  Box box(options);
  box.deliver(1, 7, 1, Payload(1));
  EXPECT_EQ(box.wanted_from(1), 8U);
  box.deliver(1, 7, 1, Payload(99));
  EXPECT_EQ(refusal([&] { box.deliver(1, 9, 1, {}); }),
            "there sent round 9 of agent 1 after round 7");
  EXPECT_EQ(refusal([&] { box.deliver(1, 8, 0, {}); }),
            "there sent a message of agent 0, which it does not host");
  const auto received = box.collect(7);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].bytes.size(), 1U);
}

TEST(Mailbox, ResumesAfterTheCheckpoint) {
  auto options = patient();
  options.resume_after = 20;
  Box box(options);
  EXPECT_EQ(box.wanted_from(1), 21U);
  EXPECT_EQ(box.settled(), 20U);
  EXPECT_NE(refusal([&] { box.deliver(1, 23, 1, {}); }), "accepted");
}

TEST(Mailbox, SettlesWhatIsCollectedUnlessItMayRestart) {
  for (const bool may_restart : {false, true}) {
    auto options = patient();
    options.may_restart = may_restart;
    Box box(options);
    box.deliver(1, 1, 1, Payload(1));
    box.collect(1);
    EXPECT_EQ(box.settled(), may_restart ? 0U : 1U);
    box.settle(1);
    EXPECT_EQ(box.settled(), 1U);
  }
}

TEST(Mailbox, TakesThreeRoundsInAdvanceThenWaits) {
  Box box;
  for (std::uint32_t round = 1; round <= 3; ++round) box.deliver(1, round, 1, Payload(round));
  auto fourth = std::async(std::launch::async, [&] { box.deliver(1, 4, 1, Payload(4)); });
  EXPECT_EQ(fourth.wait_for(50ms), std::future_status::timeout);
  box.collect(1);
  fourth.get();
  EXPECT_EQ(box.wanted_from(1), 5U);
}

// The connections of a neighbour that comes and goes overlap. A round that one of them waits to
// bring may have been brought by another, and collected.
TEST(Mailbox, TakesARoundOnceWhicheverConnectionBringsIt) {
  constexpr std::uint32_t kRounds = 3000;
  Box box;
  std::vector<std::thread> connections;
  for (int i = 0; i < 4; ++i)
    connections.emplace_back([&] {
      for (std::uint32_t round = 1; round <= kRounds; ++round)
        box.deliver(1, round, 1, Payload(round % 7));
    });
  for (std::uint32_t round = 1; round <= kRounds; ++round)
    ASSERT_EQ(box.collect(round)[0].bytes.size(), round % 7);
  for (auto& connection : connections) connection.join();
  EXPECT_EQ(box.wanted_from(1), kRounds + 1);
  for (std::uint32_t round = 1; round <= 3; ++round)  // there is room for three
    box.deliver(1, kRounds + round, 1, {});
}

TEST(Mailbox, NamesAPeerThatIsOutOfReach) {
  auto options = patient();
  options.start_wait = 20ms;
  options.peer_wait = 10ms;
  Box never(options);
  EXPECT_EQ(refusal([&] { never.collect(1); }), "there has been out of reach for 0 s");
  Box lost(options);
  const auto old = lost.connected(1);
  const auto current = lost.connected(1);
  lost.lost(1, old, "an older connection, of no importance");
  EXPECT_TRUE(lost.is_current(1, current));
  lost.lost(1, current, "a cable was cut");
  EXPECT_EQ(refusal([&] { lost.collect(1); }),
            "there has been out of reach for 0 s: a cable was cut");
  Mailbox::Cursor cursor;
  lost.begin_sending(1, 1, cursor);
  EXPECT_EQ(lost.next(1, cursor)->kind, Kind::gave_up);  // everybody is told
}

// This process is 1, between two neighbours.
const Hosting kPath = host_in_blocks({{1}, {0, 2}, {1}}, 3);

// One neighbour is there and sends its message, which wakes nobody, as the round is not complete.
TEST(Mailbox, NamesAPeerThatIsOutOfReachBehindOneThatIsThere) {
  for (const std::uint32_t there : {0U, 2U})
    for (const bool was_present : {false, true}) {
      Mailbox box(kPath, 1, {"a", "b", "c"},
                  {.start_wait = was_present ? 1h : 200ms, .peer_wait = 200ms});
      auto waiting =
          std::async(std::launch::async, [&] { return refusal([&] { box.collect(1); }); });
      std::this_thread::sleep_for(20ms);
      box.connected(there);
      if (was_present) box.lost(2 - there, box.connected(2 - there), "gone");
      std::this_thread::sleep_for(20ms);
      box.deliver(there, 1, there, Payload(1));
      ASSERT_EQ(waiting.wait_for(30s), std::future_status::ready);
      EXPECT_EQ(waiting.get().find(there == 0 ? "c has been out of reach" : "a has been out"), 0U);
    }
}

// Who connects for the first time late and is killed at once is waited for like any other.
TEST(Mailbox, TheFirstLossBeginsTheWait) {
  Box box({.start_wait = 1h, .peer_wait = 300ms});
  std::this_thread::sleep_for(350ms);
  box.lost(1, box.connected(1), "killed");
  auto waiting = std::async(std::launch::async, [&] { return refusal([&] { box.collect(1); }); });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  EXPECT_NE(waiting.get().find("there has been out of reach for 0.3 s"), std::string::npos);
}

// The others may still need this process, so nobody hears that one of them is missing.
TEST(Mailbox, FinishingWaitsForThoseWhoAreThereAndTellsNobodyOfTheOthers) {
  Mailbox box(kPath, 1, {"a", "b", "c"}, {.start_wait = 10ms, .peer_wait = 10ms});
  box.connected(2);
  auto done = std::async(std::launch::async, [&] { return box.finish(); });
  EXPECT_EQ(done.wait_for(100ms), std::future_status::timeout);
  Mailbox::Cursor cursor;
  box.begin_sending(2, 1, cursor);
  EXPECT_EQ(box.next(2, cursor)->kind, Kind::finished);
  box.acknowledged(2, 0, true, false);
  box.finished(2);
  EXPECT_EQ(done.get(), "a");
}

TEST(Mailbox, WaitsForAPeerThatIsThere) {
  auto options = patient();
  options.start_wait = options.peer_wait = 1ms;
  Box box(options);
  box.connected(1);
  auto collected = std::async(std::launch::async, [&] { return box.collect(1).size(); });
  EXPECT_EQ(collected.wait_for(50ms), std::future_status::timeout);
  box.deliver(1, 1, 1, Payload(1));
  EXPECT_EQ(collected.get(), 1U);
}

// Who connects again and again, say because each of its messages is refused, is out of reach.
TEST(Mailbox, ConnectionsThatBringNothingDoNotExtendTheWait) {
  Box box({.start_wait = 1h, .peer_wait = 300ms});
  box.lost(1, box.connected(1), "refused");
  auto flapping = std::async(std::launch::async, [&] {
    while (!box.closed()) {
      box.lost(1, box.connected(1), "refused");
      box.pause(10ms);
    }
  });
  EXPECT_NE(refusal([&] { box.collect(1); }).find("there has been out of reach"),
            std::string::npos);
  box.close();
  flapping.get();
}

TEST(Mailbox, SaysWhoIsWaitedFor) {
  const auto links = std::make_shared<LinkMeter>();
  Box box({.start_wait = 1h, .peer_wait = 1h, .links = links});
  box.lost(1, box.connected(1), "gone");
  box.connected(1);
  auto round = std::async(std::launch::async, [&] { box.collect(1); });
  while (links->links()[0].wait_seconds == 0) std::this_thread::yield();
  box.deliver(1, 1, 1, Payload(3));
  round.get();
  const auto link = links->links()[0];
  EXPECT_EQ(link.neighbour, "there");
  EXPECT_TRUE(link.connected);
  EXPECT_EQ(link.reconnects, 1U);
  EXPECT_GT(link.wait_seconds, 0);
}

TEST(Mailbox, PassesOnTheFirstReasonOnly) {
  Box box;
  box.give_up(ErrorKind::network, "the first");
  box.give_up(ErrorKind::network, "the second");
  EXPECT_EQ(refusal([&] { box.collect(1); }), "the first");
  EXPECT_EQ(refusal([&] { box.finish(); }), "the first");
  Mailbox::Cursor cursor;
  box.begin_sending(1, 1, cursor);
  EXPECT_EQ(box.next(1, cursor)->text, "the first");
  box.close();
  EXPECT_FALSE(box.next(1, cursor));
}

TEST(Mailbox, FinishesWhenBothSidesHaveSaidSo) {
  Box box;
  box.connected(1);
  auto done = std::async(std::launch::async, [&] { box.finish(); });
  Mailbox::Cursor cursor;
  box.begin_sending(1, 1, cursor);
  EXPECT_EQ(box.next(1, cursor)->kind, Kind::finished);
  box.acknowledged(1, 0, true, false);
  EXPECT_EQ(done.wait_for(30ms), std::future_status::timeout);
  box.finished(1);
  done.get();
}

}  // namespace
}  // namespace porter
