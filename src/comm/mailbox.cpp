// SPDX-License-Identifier: Apache-2.0
#include "mailbox.hpp"

#include <algorithm>
#include <tuple>

namespace porter {
namespace {

// A neighbour is at most one round ahead, unless it sends again what a restarted process missed.
constexpr std::size_t kRoundsAhead = 3;
// A connection that lasts is a good one, whether there was something to send or not.
constexpr std::chrono::seconds kLasting{5};

// Wanted by a neighbour to whom this process has nothing to send.
constexpr auto kNothing = ~std::uint32_t{0};

}  // namespace

Mailbox::Mailbox(const Hosting& hosting, std::uint32_t process, std::vector<std::string> names,
                 Options options)
    : hosting_(hosting),
      process_(process),
      names_(std::move(names)),
      options_(std::move(options)),
      settled_(options_.resume_after) {
  for (const auto neighbour : hosting_.neighbours(process_)) {
    neighbours_.try_emplace(neighbour);
    if (options_.links) options_.links->add(describe(neighbour));
  }
  for (const auto agent : hosting_.sources(process_)) last_[agent] = options_.resume_after;
}

std::string Mailbox::describe(std::uint32_t process) const { return names_[process]; }

std::uint32_t Mailbox::meet() {
  std::unique_lock lock(mutex_);
  const auto end = began_ + options_.start_wait;
  while (true) {
    throw_if_over();
    std::uint32_t last = 0;
    const auto silent = std::ranges::find_if(neighbours_, [&](const auto& entry) {
      last = std::max(last, entry.second.held.value_or(0));
      return !entry.second.held;
    });
    if (silent == neighbours_.end()) return last;
    if (Clock::now() < end) {
      wait_until(lock, end);
      continue;
    }
    const auto& [process, neighbour] = *silent;
    over_ = {ErrorKind::network, concat(describe(process), " has not answered within ",
                                        std::chrono::duration<double>(options_.start_wait).count(),
                                        " s", neighbour.why.empty() ? "" : ": ", neighbour.why)};
    wake_all();
  }
}

void Mailbox::post(std::uint32_t round, std::uint32_t sender, std::span<const std::byte> bytes) {
  const auto copy = std::make_shared<const Payload>(bytes.begin(), bytes.end());
  const std::lock_guard lock(mutex_);
  for (const auto target : hosting_.targets(sender)) {
    auto& to = neighbours_.at(target);
    to.outbox.push_back({Parcel::Kind::message, round, sender, copy, std::string()});
    to.news.notify_all();
  }
}

std::span<const Received> Mailbox::collect(std::uint32_t round) {
  std::unique_lock lock(mutex_);
  const auto& sources = hosting_.sources(process_);
  collecting_ = round;
  inbox_[round];       // there is always room for it,
  room_.notify_all();  // also where somebody has sent later rounds first
  if (options_.links)
    for (const auto agent : sources)
      if (!inbox_[round].contains(agent))
        options_.links->missing(describe(hosting_.process_of(agent)));
  wait_for_all(lock, sources, round);
  collecting_.reset();
  held_ = std::move(inbox_[round]);
  inbox_.erase(round);
  if (!options_.may_restart) settled_ = round;
  room_.notify_all();
  received_.clear();
  for (const auto& [sender, bytes] : held_) received_.push_back({sender, bytes});
  return received_;
}

void Mailbox::settle(std::uint32_t round) {
  const std::lock_guard lock(mutex_);
  settled_ = std::max(settled_, round);
}

std::string Mailbox::finish() {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  wake_all();
  while (true) {
    throw_if_over();
    std::string away;
    bool all_spent = true;
    auto next = Clock::time_point::max();
    for (const auto& [process, neighbour] : neighbours_) {
      // A neighbour that has finished and left has got everything, whether it said so or not.
      if (neighbour.finished && (!neighbour.present || neighbour.heard_finish)) continue;
      const auto end = deadline(neighbour);
      if (Clock::now() >= end) {
        if (!away.empty()) away += ", ";
        away += describe(process);
      } else {
        all_spent = false;
        next = std::min(next, end);
      }
    }
    if (all_spent) return away;
    wait_until(lock, next);
  }
}

void Mailbox::give_up(ErrorKind kind, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!over_) over_ = {kind, text};
  wake_all();
}

void Mailbox::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  wake_all();
}

bool Mailbox::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

bool Mailbox::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [&] { return closed_; });
}

void Mailbox::wait_for_news_to_spread(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [&] {
    return std::ranges::all_of(neighbours_, [](const auto& entry) {
      const auto& [heard_over, here, was_here] =
          std::tie(entry.second.heard_over, entry.second.present, entry.second.was_present);
      return heard_over || (was_here && !here);
    });
  });
}

Mailbox::Clock::time_point Mailbox::deadline(const Neighbour& neighbour) const {
  if (neighbour.present) return Clock::time_point::max();
  return neighbour.lost_at + (neighbour.was_present ? options_.peer_wait : options_.start_wait);
}

void Mailbox::wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point time) {
  if (time == Clock::time_point::max())
    changed_.wait(lock);
  else
    changed_.wait_until(lock, time);
}

void Mailbox::wake_all() {
  changed_.notify_all();
  room_.notify_all();
  for (auto& [process, neighbour] : neighbours_) neighbour.news.notify_all();
}

void Mailbox::throw_if_over() {
  if (over_) throw Error(over_->kind, over_->text);
}

// Of all whose messages are missing, whoever is out of reach for too long ends the run, and the
// others are told: nobody is woken for a part of a round, so no single one may be waited for.
void Mailbox::wait_for_all(std::unique_lock<std::mutex>& lock,
                           const std::vector<std::uint32_t>& sources, std::uint32_t round) {
  while (true) {
    throw_if_over();
    const auto& messages = inbox_[round];
    std::optional<std::uint32_t> first;  // whose time is up first
    for (const auto agent : sources) {
      const auto process = hosting_.process_of(agent);
      if (messages.contains(agent)) continue;
      if (!first || deadline(neighbours_.at(process)) < deadline(neighbours_.at(*first)))
        first = process;
    }
    if (!first) return;
    const auto& neighbour = neighbours_.at(*first);
    const auto end = deadline(neighbour), now = Clock::now();
    if (now < end) {
      wait_until(lock, end);
      continue;
    }
    const auto waited = std::chrono::duration<double>(now - neighbour.lost_at).count();
    over_ = {ErrorKind::network, concat(describe(*first), " has been out of reach for ",
                                        static_cast<double>(static_cast<long>(waited * 10)) / 10,
                                        " s", neighbour.why.empty() ? "" : ": ", neighbour.why)};
    wake_all();
  }
}

void Mailbox::begin_sending(std::uint32_t neighbour, std::uint32_t round, Cursor& cursor) {
  const std::lock_guard lock(mutex_);
  auto& to = neighbours_.at(neighbour);
  require(round > to.forgotten, ErrorKind::protocol, describe(neighbour), " asks for round ", round,
          " again; it said before that all up to round ", to.forgotten, " is safe");
  to.held = round == kNothing ? 0 : round - 1;
  changed_.notify_all();
  const auto at = std::ranges::find_if(to.outbox, [&](const auto& p) { return p.round >= round; });
  cursor = {.next = to.first + static_cast<std::uint64_t>(at - to.outbox.begin())};
}

std::optional<Mailbox::Parcel> Mailbox::next(std::uint32_t neighbour, Cursor& cursor) {
  std::unique_lock lock(mutex_);
  auto& to = neighbours_.at(neighbour);
  while (true) {
    if (cursor.broken || closed_) return std::nullopt;
    if (over_ && !cursor.said_over) {
      cursor.said_over = true;
      return Parcel{Parcel::Kind::gave_up, 0, 0, nullptr, over_->text};
    }
    cursor.next = std::max(cursor.next, to.first);
    if (cursor.next < to.first + to.outbox.size()) return to.outbox[cursor.next++ - to.first];
    if (finishing_ && !cursor.said_finished) {
      cursor.said_finished = true;
      return Parcel{Parcel::Kind::finished, 0, 0, nullptr, std::string()};
    }
    to.news.wait(lock);
  }
}

void Mailbox::break_off(std::uint32_t neighbour, Cursor& cursor) {
  const std::lock_guard lock(mutex_);
  cursor.broken = true;
  neighbours_.at(neighbour).news.notify_all();
}

void Mailbox::acknowledged(std::uint32_t neighbour, std::uint32_t settled, bool heard_finish,
                           bool heard_over) {
  const std::lock_guard lock(mutex_);
  auto& to = neighbours_.at(neighbour);
  while (!to.outbox.empty() && to.outbox.front().round <= settled) {
    to.forgotten = to.outbox.front().round;
    to.outbox.pop_front();
    ++to.first;
  }
  to.heard_finish |= heard_finish;
  to.heard_over |= heard_over;
  if (heard_finish || heard_over) changed_.notify_all();
}

std::uint64_t Mailbox::connected(std::uint32_t neighbour) {
  const std::lock_guard lock(mutex_);
  auto& from = neighbours_.at(neighbour);
  from.present = from.was_present = true;
  from.brought_something = false;
  from.connected_at = Clock::now();
  from.why.clear();
  if (options_.links) options_.links->connected(describe(neighbour));
  changed_.notify_all();
  return ++from.connection;
}

bool Mailbox::is_current(std::uint32_t neighbour, std::uint64_t connection) {
  const std::lock_guard lock(mutex_);
  return neighbours_.at(neighbour).connection == connection;
}

void Mailbox::lost(std::uint32_t neighbour, std::uint64_t connection, const std::string& why) {
  const std::lock_guard lock(mutex_);
  auto& from = neighbours_.at(neighbour);
  if (from.connection != connection) return;
  from.present = false;
  const auto now = Clock::now();
  if (!from.was_lost || from.brought_something || now - from.connected_at > kLasting)
    from.lost_at = now;
  from.was_lost = true;
  from.why = why;
  if (options_.links) options_.links->lost(describe(neighbour));
  changed_.notify_all();
}

void Mailbox::note_failure(std::uint32_t neighbour, const std::string& why) {
  const std::lock_guard lock(mutex_);
  neighbours_.at(neighbour).why = why;
}

std::uint32_t Mailbox::wanted_from(std::uint32_t neighbour) {
  const std::lock_guard lock(mutex_);
  auto round = kNothing;
  for (const auto& [agent, last] : last_)
    if (hosting_.process_of(agent) == neighbour) round = std::min(round, last + 1);
  return round;
}

void Mailbox::deliver(std::uint32_t neighbour, std::uint32_t round, std::uint32_t sender,
                      Payload bytes) {
  std::unique_lock lock(mutex_);
  const auto last = last_.find(sender);
  require(last != last_.end() && hosting_.process_of(sender) == neighbour, ErrorKind::protocol,
          describe(neighbour), " sent a message of agent ", sender, ", which it does not host");
  neighbours_.at(neighbour).brought_something = true;
  if (round <= last->second) return;  // sent again; it is here already
  const bool is_next = round == last->second + 1 || (last->second == 0 && !options_.may_restart);
  require(is_next, ErrorKind::protocol, describe(neighbour), " sent round ", round, " of agent ",
          sender, " after round ", last->second);
  room_.wait(lock, [&] {
    return closed_ || over_ || inbox_.size() < kRoundsAhead || inbox_.contains(round);
  });
  // Another connection of the same neighbour may have brought it meanwhile.
  if (closed_ || over_ || round <= last->second) return;
  last->second = round;
  inbox_[round][sender] = std::move(bytes);
  if (options_.trace) options_.trace->arrived(round, describe(neighbour), Clock::now());
  if (round != collecting_) return;
  if (options_.links) options_.links->arrived(describe(neighbour));
  // Nobody needs to wake up for a part of a round.
  if (inbox_[round].size() == hosting_.sources(process_).size()) changed_.notify_all();
}

void Mailbox::finished(std::uint32_t neighbour) {
  const std::lock_guard lock(mutex_);
  neighbours_.at(neighbour).finished = true;
  changed_.notify_all();
}

std::uint32_t Mailbox::settled() {
  const std::lock_guard lock(mutex_);
  return settled_;
}

}  // namespace porter
