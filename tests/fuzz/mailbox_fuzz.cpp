// SPDX-License-Identifier: Apache-2.0
// What neighbours answer, in any order and with any numbers: refused, or such that what was taken
// is handed out once and in order.
#include "comm/mailbox.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include "fuzz.hpp"

namespace {

using namespace porter;

void expect(bool condition) {
  if (!condition) std::abort();
}

// Process 1 of a path of three, and what it must have seen.
class Subject {
 public:
  Subject()
      : mailbox_(hosting_, 1, {"a", "b", "c"},
                 {.start_wait = std::chrono::hours(1),
                  .peer_wait = std::chrono::hours(1),
                  .may_restart = true}) {
    mailbox_.post(1, 1, {});
  }

  // kind, neighbour, round, sender
  void act(std::span<const std::uint8_t> bytes) {
    const std::uint32_t neighbour = bytes[1] % 2 == 0 ? 0 : 2;
    const std::uint32_t round = number(bytes[2]), sender = number(bytes[3]);
    auto& cursor = cursors_[neighbour];
    switch (bytes[0] % 9) {
      case 0:
        mailbox_.begin_sending(neighbour, round, cursor);
        break;
      case 1:
        mailbox_.acknowledged(neighbour, round);
        break;
      case 2: {
        Payload payload(bytes[3], std::byte{1});
        const auto before = taken_[sender];
        if (!mailbox_.deliver(neighbour, round, sender, payload)) break;
        expect(hosting_.process_of(sender) == neighbour && round <= before + 1);
        taken_[sender] = std::max(before, round);
        break;
      }
      case 3:
        mailbox_.finished(neighbour);
        break;
      case 4:
        mailbox_.heard_finish(neighbour);
        break;
      case 5:
        mailbox_.connected(neighbour);
        break;
      case 6:
        mailbox_.lost(neighbour);
        break;
      case 7:
        mailbox_.says_it_waits(neighbour, bytes[2] % 2 == 0);
        break;
      default:
        send_all(neighbour, cursor);
    }
    collect();
  }

 private:
  // Small numbers, and the ends of the range.
  static std::uint32_t number(std::uint8_t byte) { return byte < 250 ? byte % 8 : ~0U - byte % 3; }

  void send_all(std::uint32_t neighbour, Mailbox::Cursor& cursor) {
    std::uint32_t last = 0;
    while (const auto parcel = mailbox_.next(neighbour, cursor)) {
      if (parcel->kind != Mailbox::Parcel::Kind::message) continue;
      expect(parcel->step >= last);
      last = parcel->step;
    }
  }

  // As a run does: a round is collected when it is complete, and the next one is posted.
  void collect() {
    while (taken_[0] >= round_ && taken_[2] >= round_) {
      expect(mailbox_.collect(round_).size() == 2);
      mailbox_.settle(round_++);
      mailbox_.post(round_, 1, {});
    }
  }

  Hosting hosting_{{0, 1, 2}, {{1}, {0, 2}, {1}}};
  Mailbox mailbox_;
  std::map<std::uint32_t, Mailbox::Cursor> cursors_;
  std::map<std::uint32_t, std::uint32_t> taken_;
  std::uint32_t round_ = 1;
};

}  // namespace

std::vector<std::string> fuzz_seeds() {
  // Both neighbours come, ask for round 1, send three rounds each and get ours.
  std::string seed;
  for (const char neighbour : {'\0', '\1'}) seed += {5, neighbour, 0, 0, 0, neighbour, 1, 0};
  for (const char round : {'\1', '\2', '\3'}) {
    seed += {2, 0, round, 0, 2, 1, round, 2};
    seed += {8, 0, 0, 0, 8, 1, 0, 0, 1, 0, round, 0};
  }
  return {seed, seed + std::string({6, 0, 0, 0, 5, 0, 0, 0, 0, 0, 2, 0, 8, 0, 0, 0})};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Subject subject;
  for (std::size_t i = 0; i + 4 <= std::min<std::size_t>(size, 400); i += 4) try {
      subject.act({data + i, 4});
    } catch (const porter::Error&) {
    }
  return 0;
}
