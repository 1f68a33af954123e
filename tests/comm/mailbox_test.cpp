// SPDX-License-Identifier: Apache-2.0
#include "comm/mailbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace porter {
namespace {

using namespace std::chrono_literals;
using Kind = Mailbox::Parcel::Kind;

// This process is 0, its neighbour 1.
const Hosting kPair = host_in_blocks({{1}, {0}}, 2);

// This process is 1, between two neighbours.
const Hosting kPathOfThree = host_in_blocks({{1}, {0, 2}, {1}}, 3);

Mailbox::Options patient() { return {.start_wait = 1h, .peer_wait = 1h}; }

struct Box : Mailbox {
  explicit Box(Options options = patient()) : Mailbox(kPair, 0, {"here", "there"}, options) {}

  using Mailbox::deliver;
  bool deliver(std::uint32_t neighbour, std::uint32_t round, std::uint32_t sender,
               Payload&& bytes) {
    return Mailbox::deliver(neighbour, round, sender, bytes);
  }
  /// Both directions of the link are there.
  void reach(std::uint32_t neighbour) {
    Cursor cursor;
    begin_sending(neighbour, 1, cursor);
    connected(neighbour);
  }
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
      EXPECT_EQ(*parcel->bytes, Payload(parcel->step, static_cast<std::byte>(parcel->step)));
      rounds.push_back(parcel->step);
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
  box.begin_sending(1, 3, second);
  EXPECT_EQ(box.send(second, 3), (std::vector<std::uint32_t>{3, 4, 5}));
}

// A restarted process hears what the others have seen of it before it sends anything.
TEST(Mailbox, MeetsAllNeighboursAndKnowsTheLastRoundThatOneOfThemHolds) {
  auto options = patient();
  options.resume_after = 2;
  Mailbox box(kPathOfThree, 1, {"a", "b", "c"}, options);
  Mailbox::Cursor to_a, to_c;
  box.begin_sending(0, 8, to_a);
  auto met = std::async(std::launch::async, [&] { return box.meet(); });
  EXPECT_EQ(met.wait_for(50ms), std::future_status::timeout);
  box.begin_sending(2, 4, to_c);
  EXPECT_EQ(met.get(), 7U);
  // One that has restarted itself wants again what it had before.
  box.begin_sending(2, 4, to_c, 11);
  EXPECT_EQ(box.meet(), 11U);
}

TEST(Mailbox, NamesWhoDoesNotAnswer) {
  auto options = patient();
  options.start_wait = 20ms;
  Box box(options);
  box.connected(1);  // it comes, but is not found at its address
  box.unreached(1, "here cannot reach there at 127.0.0.1:7402: Connection refused");
  EXPECT_EQ(refusal([&] { box.meet(); }),
            "there has been out of reach for 0 s: here cannot reach there at 127.0.0.1:7402: "
            "Connection refused");
  EXPECT_EQ(box.over()->text, "it cannot reach there");  // what the others hear
}

// A neighbour that came and agreed, here or there, may come back with another config.
TEST(Mailbox, OnlyWhoNeverMetAnybodyOfItsRunEndsWhenAllRefuseIt) {
  Box stranger;
  stranger.refused(1, "there refuses here: another run");
  ASSERT_TRUE(stranger.over());
  EXPECT_EQ(stranger.over()->text, "its neighbours refuse it");
  Box visited, welcomed;
  visited.connected(1);
  Mailbox::Cursor cursor;
  welcomed.begin_sending(1, 1, cursor);
  for (Box* box : {&visited, &welcomed}) {
    box->refused(1, "there refuses here: another run");
    EXPECT_FALSE(box->over());
  }
}

TEST(Mailbox, KeepsWhatIsNotSettledAndForgetsTheRest) {
  Box box;
  box.post_rounds(1, 5);
  Mailbox::Cursor cursor;
  box.begin_sending(1, 1, cursor);
  box.send(cursor, 5);
  box.acknowledged(1, 3);
  box.begin_sending(1, 4, cursor);
  EXPECT_EQ(box.send(cursor, 2), (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(refusal([&] { box.begin_sending(1, 3, cursor); }),
            "there asks for step 3 again; it said before that all up to step 3 is safe");
}

TEST(Mailbox, DoesNotKeepForEverWhatANeighbourNeverSettles) {
  auto options = patient();
  options.most_unsettled = 10;
  Box box(options);
  box.post_rounds(1, 11);
  EXPECT_EQ(refusal([&] { box.post_rounds(12, 12); }),
            "there takes part in step 12, but has not said that step 1 is safe");
  box.acknowledged(1, 4);
  box.post_rounds(12, 15);
  EXPECT_EQ(refusal([&] { box.post_rounds(16, 16); }),
            "there takes part in step 16, but has not said that step 5 is safe");
}

// The neighbour would take it for a gap, and blame this process.
TEST(Mailbox, ARestartedProcessDoesNotBeginBehindWhatIsWanted) {
  auto options = patient();
  options.resume_after = 8;
  options.forgotten = 5;
  Box box(options);
  Mailbox::Cursor cursor;
  EXPECT_EQ(refusal([&] { box.begin_sending(1, 4, cursor); }),
            "there asks for step 4 again; it said before that all up to step 5 is safe");
  box.begin_sending(1, 6, cursor);
  box.post_rounds(6, 9);
  EXPECT_EQ(box.send(cursor, 4), (std::vector<std::uint32_t>{6, 7, 8, 9}));
}

TEST(Mailbox, DropsWhatCameBeforeAndRefusesGapsAndStrangers) {
  auto options = patient();
  options.may_restart = true;
  EXPECT_EQ(refusal([&] { Box(options).deliver(1, 7, 1, {}); }),
            "there sent step 7 of agent 1 after step 0");
  options.resume_after = 6;
  Box box(options);
  box.deliver(1, 7, 1, Payload(1));
  EXPECT_EQ(box.wanted_from(1), 8U);
  box.deliver(1, 7, 1, Payload(99));
  EXPECT_EQ(refusal([&] { box.deliver(1, 9, 1, {}); }),
            "there sent step 9 of agent 1 after step 7");
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

TEST(Mailbox, TakesThreeRoundsInAdvanceThenNoneUntilThereIsRoom) {
  int woken = 0;
  auto options = patient();
  options.wake = [&] { ++woken; };
  Box box(options);
  for (std::uint32_t round = 1; round <= 3; ++round)
    EXPECT_TRUE(box.deliver(1, round, 1, Payload(round)));
  box.collect(1);
  EXPECT_EQ(woken, 0);  // nobody waits for room
  EXPECT_TRUE(box.deliver(1, 4, 1, Payload(4)));
  Payload fifth(5);
  EXPECT_FALSE(box.deliver(1, 5, 1, fifth));
  EXPECT_EQ(fifth.size(), 5U);
  EXPECT_EQ(box.wanted_from(1), 5U);
  box.collect(2);
  EXPECT_EQ(woken, 1);
  EXPECT_TRUE(box.deliver(1, 5, 1, fifth));
  EXPECT_EQ(box.wanted_from(1), 6U);
}

TEST(Mailbox, LetsWhoWaitsServeTheLinks) {
  Box* links = nullptr;
  auto options = patient();
  int turns = 0;
  bool delivered = false;
  options.drive = [&](Mailbox::Clock::time_point) {
    if (++turns == 3) delivered = links->deliver(1, 1, 1, Payload(7));  // the box is not locked
  };
  Box box(options);
  links = &box;
  box.reach(1);
  EXPECT_EQ(box.collect(1)[0].bytes.size(), 7U);
  EXPECT_EQ(turns, 3);
  EXPECT_TRUE(delivered);
  EXPECT_TRUE(box.deliver(1, 2, 1, Payload(8)));
  EXPECT_EQ(box.collect(2)[0].bytes.size(), 8U);
  EXPECT_EQ(turns, 3);  // nothing to wait for
}

// The connections of a neighbour that comes and goes overlap.
TEST(Mailbox, TakesARoundOnceWhicheverConnectionBringsIt) {
  constexpr std::uint32_t kRounds = 300;
  Box box;
  std::thread link([&] {
    for (std::uint32_t round = 1; round <= kRounds; ++round)
      for (int connection = 0; connection < 4; ++connection)
        while (!box.deliver(1, round, 1, Payload(round % 7))) std::this_thread::yield();
  });
  for (std::uint32_t round = 1; round <= kRounds; ++round)
    ASSERT_EQ(box.collect(round)[0].bytes.size(), round % 7);
  link.join();
  EXPECT_EQ(box.wanted_from(1), kRounds + 1);
}

TEST(Mailbox, NamesAPeerThatIsOutOfReach) {
  auto options = patient();
  options.start_wait = 20ms;
  options.peer_wait = 10ms;
  Box never(options);
  EXPECT_EQ(refusal([&] { never.collect(1); }), "there has been out of reach for 0 s");
  Box lost(options);
  lost.reach(1);
  lost.lost(1);
  lost.unreached(1, "here cannot reach there at 10.0.0.2:7400: a cable was cut");
  EXPECT_EQ(refusal([&] { lost.collect(1); }),
            "there has been out of reach for 0 s: here cannot reach there at 10.0.0.2:7400: a "
            "cable was cut");
  Mailbox::Cursor cursor;
  lost.begin_sending(1, 1, cursor);
  const auto news = lost.next(1, cursor);  // everybody is told who cannot be reached from where
  EXPECT_EQ(news->kind, Kind::gave_up);
  EXPECT_EQ(news->sender, 0U);
  EXPECT_EQ(news->text, "it cannot reach there");
}

// A neighbour whose address is wrong here connects and sends; without an answer it stops.
TEST(Mailbox, NamesAPeerThatComesButCannotBeReached) {
  auto options = patient();
  options.start_wait = 20ms;
  Box box(options);
  box.connected(1);
  box.unreached(1, "here cannot reach there");
  EXPECT_EQ(refusal([&] { box.collect(1); }),
            "there has been out of reach for 0 s: here cannot reach there");
  Box other(options);
  Mailbox::Cursor cursor;
  other.begin_sending(1, 1, cursor);
  EXPECT_EQ(refusal([&] { other.collect(1); }),
            "there has been out of reach for 0 s: here reaches it, but it does not connect to "
            "here");
  EXPECT_EQ(other.over()->text, "there does not connect to it");
}

// One neighbour is there and sends its message, which wakes nobody, as the round is not complete.
TEST(Mailbox, NamesAPeerThatIsOutOfReachBehindOneThatIsThere) {
  for (const std::uint32_t there : {0U, 2U})
    for (const bool was_present : {false, true}) {
      Mailbox box(kPathOfThree, 1, {"a", "b", "c"},
                  {.start_wait = was_present ? 1h : 200ms, .peer_wait = 200ms});
      Mailbox::Cursor cursor;
      box.begin_sending(there, 1, cursor);
      auto waiting =
          std::async(std::launch::async, [&] { return refusal([&] { box.collect(1); }); });
      std::this_thread::sleep_for(20ms);
      box.connected(there);
      if (was_present) {
        box.connected(2 - there);
        box.lost(2 - there);
      }
      std::this_thread::sleep_for(20ms);
      Payload bytes(1);
      box.deliver(there, 1, there, bytes);
      ASSERT_EQ(waiting.wait_for(30s), std::future_status::ready);
      EXPECT_EQ(waiting.get().find(there == 0 ? "c has been out of reach" : "a has been out"), 0U);
    }
}

// Who connects for the first time late and is killed at once is waited for like any other.
TEST(Mailbox, TheFirstLossBeginsTheWait) {
  Box box({.start_wait = 1h, .peer_wait = 300ms});
  std::this_thread::sleep_for(350ms);
  box.connected(1);
  box.lost(1);
  auto waiting = std::async(std::launch::async, [&] { return refusal([&] { box.collect(1); }); });
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  EXPECT_NE(waiting.get().find("there has been out of reach for 0.3 s"), std::string::npos);
}

// The others may still need this process, so nobody hears that one of them is missing.
TEST(Mailbox, FinishingWaitsForThoseWhoAreThereAndTellsNobodyOfTheOthers) {
  Mailbox box(kPathOfThree, 1, {"a", "b", "c"}, {.start_wait = 10ms, .peer_wait = 10ms});
  box.connected(2);
  Mailbox::Cursor cursor;
  box.begin_sending(2, 1, cursor);
  auto done = std::async(std::launch::async, [&] { return box.finish(); });
  std::optional<Mailbox::Parcel> last;
  while (!last) last = box.next(2, cursor);
  EXPECT_EQ(last->kind, Kind::finished);
  EXPECT_EQ(done.wait_for(100ms), std::future_status::timeout);
  box.heard_finish(2);
  box.finished(2);
  EXPECT_EQ(done.get(), "a");
}

TEST(Mailbox, WaitsForAPeerThatIsThere) {
  auto options = patient();
  options.start_wait = options.peer_wait = 1ms;
  Box box(options);
  box.reach(1);
  auto collected = std::async(std::launch::async, [&] { return box.collect(1).size(); });
  EXPECT_EQ(collected.wait_for(50ms), std::future_status::timeout);
  box.deliver(1, 1, 1, Payload(1));
  EXPECT_EQ(collected.get(), 1U);
}

// Who connects again and again, say because each of its messages is refused, is out of reach.
TEST(Mailbox, ConnectionsThatBringNothingDoNotExtendTheWait) {
  Box box({.start_wait = 1h, .peer_wait = 300ms});
  const auto come_and_go = [&] {
    box.reach(1);
    box.lost(1);
    box.unreached(1, "refused");
  };
  come_and_go();
  std::atomic<bool> over = false;
  auto flapping = std::async(std::launch::async, [&] {
    for (; !over; std::this_thread::sleep_for(10ms)) come_and_go();
  });
  EXPECT_NE(refusal([&] { box.collect(1); }).find("there has been out of reach"),
            std::string::npos);
  over = true;
  flapping.get();
}

TEST(Mailbox, NamesAPeerThatIsThereAndSendsNothing) {
  Box box({.start_wait = 1h, .peer_wait = 1h, .round_wait = 100ms});
  box.reach(1);
  const auto said = refusal([&] { box.collect(1); });
  EXPECT_EQ(said.find("there is connected, but has sent nothing for step 1 in 0."), 0U) << said;
  EXPECT_EQ(box.over()->text.find("it has waited 0."), 0U) << box.over()->text;
  Box end({.start_wait = 1h, .peer_wait = 1h, .round_wait = 100ms});
  end.reach(1);
  EXPECT_EQ(end.finish(), "there");
}

// On the path a - b - c, where c is silent, a must not blame b.
TEST(Mailbox, BlamesNobodyWhoWaitsForOthersItself) {
  Box box({.start_wait = 1h, .peer_wait = 1h, .round_wait = 200ms});
  box.reach(1);
  box.says_it_waits(1, true);
  auto waiting = std::async(std::launch::async, [&] { return refusal([&] { box.collect(1); }); });
  EXPECT_EQ(waiting.wait_for(300ms), std::future_status::timeout);
  box.give_up(ErrorKind::network, "there gave up: c", 1, "c");
  EXPECT_EQ(waiting.get(), "there gave up: c");

  Mailbox middle(kPathOfThree, 1, {"a", "b", "c"}, patient());
  EXPECT_FALSE(middle.waits_for_others_than(0));
  auto round = std::async(std::launch::async, [&] { middle.collect(1); });
  while (!middle.waits_for_others_than(0)) std::this_thread::yield();
  Payload bytes(1);
  middle.deliver(2, 1, 2, bytes);
  EXPECT_FALSE(middle.waits_for_others_than(0));  // it waits for 0 alone
  EXPECT_TRUE(middle.waits_for_others_than(2));
  bytes.resize(1);
  middle.deliver(0, 1, 0, bytes);
  round.get();
}

// A neighbour that comes back does again what it did, which may take longer than a round.
TEST(Mailbox, WhatIsSentAgainIsProgressOnce) {
  auto options = patient();
  options.round_wait = 300ms;
  options.resume_after = 100;
  Box box(options);
  box.reach(1);
  auto waiting = std::async(std::launch::async, [&] { return refusal([&] { box.collect(101); }); });
  for (std::uint32_t round = 1; round <= 20; ++round) {
    box.deliver(1, round, 1, Payload(1));
    EXPECT_EQ(waiting.wait_for(30ms), std::future_status::timeout);
  }
  const auto since = Mailbox::Clock::now();
  while (waiting.wait_for(30ms) == std::future_status::timeout) box.deliver(1, 20, 1, Payload(1));
  EXPECT_LT(Mailbox::Clock::now() - since, 20s);
  EXPECT_EQ(waiting.get().find("there is connected, but has sent nothing for step 101"), 0U);
}

// A member that was restarted with another config refuses its neighbours: it is away.
TEST(Mailbox, OnlyWhoIsRefusedByAllFromTheStartGivesUp) {
  Mailbox box(kPathOfThree, 1, {"a", "b", "c"}, {.start_wait = 1h, .peer_wait = 1h});
  box.refused(0, "a refuses b");
  EXPECT_FALSE(box.over());
  Mailbox::Cursor cursor;
  box.begin_sending(2, 1, cursor);
  box.unreached(2, "gone");
  box.refused(2, "c refuses b");
  EXPECT_FALSE(box.over());  // it was welcome once

  Mailbox other(kPathOfThree, 1, {"a", "b", "c"}, {.start_wait = 1h, .peer_wait = 1h});
  other.refused(0, "a refuses b");
  other.refused(2, "c refuses b");
  EXPECT_EQ(refusal([&] { other.meet(); }), "c refuses b");
}

TEST(Mailbox, SaysWhoIsWaitedFor) {
  const auto links = std::make_shared<LinkMeter>();
  Box box({.start_wait = 1h, .peer_wait = 1h, .links = links});
  box.connected(1);
  box.lost(1);
  box.reach(1);
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
  box.give_up(ErrorKind::network, "the first, in detail", 1, "the first");
  box.give_up(ErrorKind::network, "the second", 0, "the second");
  EXPECT_EQ(refusal([&] { box.collect(1); }), "the first, in detail");
  EXPECT_EQ(refusal([&] { box.finish(); }), "the first, in detail");
  Mailbox::Cursor cursor;
  box.begin_sending(1, 1, cursor);
  const auto news = box.next(1, cursor);
  EXPECT_EQ(news->text, "the first");
  EXPECT_EQ(news->sender, 1U);
}

TEST(Mailbox, FinishesWhenBothSidesHaveSaidSo) {
  Box box;
  box.connected(1);
  Mailbox::Cursor cursor;
  box.begin_sending(1, 1, cursor);
  EXPECT_FALSE(box.next(1, cursor));
  auto done = std::async(std::launch::async, [&] { box.finish(); });
  std::optional<Mailbox::Parcel> last;
  while (!last) last = box.next(1, cursor);
  EXPECT_EQ(last->kind, Kind::finished);
  box.heard_finish(1);
  EXPECT_EQ(done.wait_for(30ms), std::future_status::timeout);
  box.finished(1);
  done.get();
}

}  // namespace
}  // namespace porter
