// SPDX-License-Identifier: Apache-2.0
#include "tls_door.hpp"

#include <algorithm>
#include <utility>

#include "porter/core/error.hpp"

namespace porter {
namespace {

using namespace std::chrono_literals;

constexpr int kAcceptedAtOnce = 16;  // then the links have their turn
constexpr auto kWithoutDescriptors = 100ms;
constexpr auto kFarewell = 1s;  // for the reason to arrive
constexpr auto kBetweenFullDoors = 60s, kBetweenReports = 1s;
constexpr std::size_t kLinesPerReport = 20;

}  // namespace

Door::Door(const TlsContext& tls, Options options)
    : tls_(tls), options_(std::move(options)), listener_(listen_on(options_.listen)) {}

void Door::watch(std::vector<pollfd>& polls) const {
  const bool open = Clock::now() >= closed_until_;
  polls.push_back({listener_.get(), static_cast<short>(open ? POLLIN : 0), 0});
  for (const auto& visitor : visitors_)
    polls.push_back({visitor.connection->fd(),
                     visitor.leaving ? short{POLLIN} : visitor.connection->events(), 0});
}

void Door::look(const std::vector<pollfd>& polls, std::size_t first) {
  knocked_ = polls[first].revents != 0;
  for (std::size_t i = 0; i < visitors_.size(); ++i)
    visitors_[i].connection->ready = polls[first + 1 + i].revents;
}

std::vector<Door::Guest> Door::work() {
  std::vector<Guest> guests;
  std::vector<Visitor> kept;
  for (auto& visitor : visitors_)
    if (!is_over(visitor, guests)) kept.push_back(std::move(visitor));
  visitors_ = std::move(kept);
  make_room();  // some may have come to be of another kind
  if (std::exchange(knocked_, false)) accept_all(guests);
  tell(false);
  return guests;
}

bool Door::is_over(Visitor& visitor, std::vector<Guest>& guests) {
  auto& connection = *visitor.connection;
  const auto age = Clock::now() - visitor.since;
  const bool ready = std::exchange(connection.ready, short{0}) != 0;
  if (visitor.leaving) return age > kFarewell || (ready && connection.drain());
  const auto refuse = [&](const std::string& why) {
    report(concat(visitor.address, " is refused: it has not shown a certificate of the authority",
                  why));
    leave(visitor);
    return false;
  };
  try {
    const bool shaken = ready && connection.shake_hands();
    visitor.answered = connection.has_answered();  // not by an alert to who has said nothing
    if (!shaken) return age > options_.patience && refuse(" in time");
  } catch (const Error& error) {
    return refuse(concat("; ", error.what()));
  }
  auto names = connection.names();
  auto why = options_.refusal(names);
  if (!why.empty()) {
    say_goodbye(visitor, names.empty() ? "nobody" : cited(names.front()), why);
    return false;
  }
  guests.push_back({std::move(visitor.connection), visitor.address, std::move(names)});
  return true;
}

// A connection that is closed while something of the other end's is unread resets it, and what was
// said last may be lost.
void Door::leave(Visitor& visitor) {
  visitor.connection->say_no_more();
  visitor.leaving = true;
  visitor.since = Clock::now();
}

void Door::say_goodbye(Visitor& visitor, const std::string& who, const std::string& why) {
  report(concat(who, " (", visitor.address, ") is refused: ", why));
  try {
    visitor.connection->send(LinkKind::refusal, std::as_bytes(std::span(why)));
    visitor.connection->flush();
  } catch (const Error&) {  // it has gone already
  }
  leave(visitor);
}

void Door::turn_away(std::unique_ptr<Connection> connection, const std::string& address,
                     const std::string& who, const std::string& why) {
  Visitor visitor{.connection = std::move(connection), .address = address, .answered = true};
  say_goodbye(visitor, who, why);
  visitors_.push_back(std::move(visitor));
  make_room();
}

void Door::accept_all(std::vector<Guest>& guests) {
  try {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      auto accepted = accept_from(listener_);
      if (!accepted) return;
      let_in(std::move(*accepted), guests);
    }
  } catch (const std::exception& error) {
    // Files need descriptors, too.
    report(concat("no connection can be accepted: ", error.what()));
    if (!drop_one({.from_peer = false, .answered = false}))
      drop_one({.from_peer = false, .answered = true});
    closed_until_ = Clock::now() + kWithoutDescriptors;
  }
}

// Who speaks first, as every peer does, is answered at once.
void Door::let_in(Accepted accepted, std::vector<Guest>& guests) {
  Visitor visitor{.connection = tls_.accept(std::move(accepted.socket)),
                  .address = std::move(accepted.address),
                  .from_peer = peer_hosts_.contains(accepted.host)};
  visitor.connection->ready = POLLIN;
  if (is_over(visitor, guests)) return;
  visitors_.push_back(std::move(visitor));
  make_room();
}

void Door::make_room() {
  for (const bool from_peer : {false, true})
    for (const bool answered : {false, true}) {
      const Kind kind{from_peer, answered};
      while (count(kind) > options_.places && drop_one(kind)) report_full(kind);
    }
}

void Door::report_full(Kind kind) {
  const auto now = Clock::now();
  auto& quiet_until = quiet_until_[kind.from_peer][kind.answered];
  if (now < quiet_until) return;
  quiet_until = now + kBetweenFullDoors;
  report(concat("the door is full: ", options_.places, " connections ",
                kind.from_peer ? "from the hosts of peers " : "",
                kind.answered ? "have not shown a certificate" : "have said nothing yet",
                "; each new one takes the place of one of them, at random"));
}

std::size_t Door::count(Kind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(visitors_, [&](const auto& each) { return each.kind() == kind; }));
}

// Any of them: if it were always the newcomer, those who came first could keep everybody else out.
bool Door::drop_one(Kind kind) {
  auto left = count(kind);
  if (left == 0) return false;
  left = std::uniform_int_distribution<std::size_t>(1, left)(random_);
  const auto chosen = std::ranges::find_if(
      visitors_, [&](const auto& each) { return each.kind() == kind && --left == 0; });
  visitors_.erase(chosen);
  return true;
}

void Door::report(const std::string& text) {
  if (std::ranges::find(news_, text) != news_.end()) return;
  if (news_.size() < kLinesPerReport)
    news_.push_back(text);
  else
    ++untold_;
}

void Door::tell(bool at_once) {
  const auto now = Clock::now();
  if (news_.empty() || (!at_once && now - told_ < kBetweenReports)) return;
  told_ = now;
  for (const auto& line : std::exchange(news_, {})) options_.report(line);
  if (untold_ > 0) options_.report(concat("and ", std::exchange(untold_, 0), " more like that"));
}

}  // namespace porter
