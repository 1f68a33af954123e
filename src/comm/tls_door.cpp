// SPDX-License-Identifier: Apache-2.0
#include "tls_door.hpp"

#include <algorithm>
#include <utility>

#include "porter/core/error.hpp"

namespace porter {
namespace {

using namespace std::chrono_literals;

constexpr int kAcceptedAtOnce = 64;
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
  if (std::exchange(knocked_, false)) accept_all();
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
    if (!ready || !connection.shake_hands()) return age > options_.patience && refuse(" in time");
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
  if (is_full(false)) drop_one(false);
  visitors_.push_back({.connection = std::move(connection), .address = address});
  say_goodbye(visitors_.back(), who, why);
}

void Door::accept_all() {
  try {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      auto accepted = accept_from(listener_);
      if (!accepted) return;
      let_in(std::move(*accepted));
    }
  } catch (const std::exception& error) {
    // Files need descriptors, too.
    report(concat("no connection can be accepted: ", error.what()));
    drop_one(false);
    closed_until_ = Clock::now() + kWithoutDescriptors;
  }
}

void Door::let_in(Accepted accepted) {
  const bool from_peer = peer_hosts_.contains(accepted.host);
  if (is_full(from_peer)) {
    drop_one(from_peer);
    const auto now = Clock::now();
    if (now >= full_until_) {
      full_until_ = now + kBetweenFullDoors;
      report(concat("the door is full: ", options_.places, " connections ",
                    from_peer ? "from the hosts of peers " : "",
                    "have not shown a certificate; each new one takes the place of one of them, "
                    "at random"));
    }
  }
  visitors_.push_back({.connection = tls_.accept(std::move(accepted.socket)),
                       .address = std::move(accepted.address),
                       .from_peer = from_peer});
}

bool Door::is_full(bool from_peer) const {
  const auto there = std::ranges::count(visitors_, from_peer, &Visitor::from_peer);
  return static_cast<std::size_t>(there) >= options_.places;
}

// Not the newcomer: then those who came first could keep everybody else out.
void Door::drop_one(bool from_peer) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < visitors_.size(); ++i)
    if (visitors_[i].from_peer == from_peer) candidates.push_back(i);
  if (candidates.empty()) return;
  const auto chosen = std::uniform_int_distribution<std::size_t>(0, candidates.size() - 1)(random_);
  visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(candidates[chosen]));
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
