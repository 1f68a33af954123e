// SPDX-License-Identifier: Apache-2.0
#include "mailbox.hpp"

#include <algorithm>
#include <utility>

namespace porter {
namespace {

using namespace std::chrono_literals;

// A neighbour is at most one step ahead, unless it sends again what a restarted process missed.
constexpr std::size_t kStepsAhead = 3;
// A connection that lasts is a good one, whether there was something to send or not.
constexpr auto kLasting = 5s;
// A step that takes longer is worth a line in the log.
constexpr auto kLongRound = 5s;
// Wanted by a neighbour to whom this process has nothing to send.
constexpr auto kNothing = ~std::uint32_t{0};

// In seconds, to a tenth.
double tenths(Mailbox::Clock::duration time) { return static_cast<double>(time / 100ms) / 10; }

}  // namespace

Mailbox::Mailbox(const Hosting& hosting, std::uint32_t process, std::vector<std::string> names,
                 Options options)
    : hosting_(hosting),
      process_(process),
      names_(std::move(names)),
      options_(std::move(options)),
      settled_(options_.resume_after) {
  for (const auto neighbour : hosting_.neighbours(process_)) {
    neighbours_[neighbour].forgotten = options_.forgotten;
    if (options_.links) options_.links->add(name_of(neighbour));
  }
  for (const auto agent : hosting_.sources(process_)) last_[agent] = options_.resume_after;
}

std::uint32_t Mailbox::meet() {
  std::unique_lock lock(mutex_);
  const auto end = began_ + options_.start_wait;
  while (true) {
    throw_if_over();
    for (const auto& [process, neighbour] : neighbours_)
      require(!neighbour.gone_on, ErrorKind::privacy, name_of(process),
              " is at a later stage of this run, to which nobody gets before its neighbours have "
              "finished this one: the folder here is older than what was released. Nothing was "
              "charged or sent. Bring back the newest one; where it is lost, start a new run with "
              "another run.seed, and count what was released against the budget of these data");
    std::uint32_t last = 0;
    const auto silent = std::ranges::find_if(neighbours_, [&](const auto& entry) {
      last = std::max(last, entry.second.held.value_or(0));
      return !entry.second.held;
    });
    if (silent == neighbours_.end()) return last;
    if (Clock::now() < end)
      changed_.wait_until(lock, end);
    else
      blame(silent->first, 0, began_);
  }
}

void Mailbox::post(std::uint32_t step, std::uint32_t sender, std::span<const std::byte> bytes) {
  const auto copy = std::make_shared<const Payload>(bytes.begin(), bytes.end());
  const std::lock_guard lock(mutex_);
  for (const auto target : hosting_.targets(sender)) {
    auto& outbox = neighbours_.at(target).outbox;
    require(outbox.empty() || step - outbox.front().step <= options_.most_unsettled,
            ErrorKind::protocol, name_of(target), " takes part in step ", step,
            ", but has not said that step ", outbox.front().step, " is safe");
    outbox.push_back({Parcel::Kind::message, step, sender, copy, std::string()});
  }
}

std::span<const Received> Mailbox::collect(std::uint32_t step) {
  std::unique_lock lock(mutex_);
  collecting_ = step;
  inbox_[step];  // there is always room for it,
  make_room();   // also where somebody has sent later rounds first
  if (options_.links)
    for (const auto process : missing(step)) options_.links->missing(name_of(process));
  wait_for_all(lock, step);
  collecting_.reset();
  held_ = std::move(inbox_[step]);
  inbox_.erase(step);
  if (!options_.may_restart) settled_ = step;
  make_room();
  received_.clear();
  for (const auto& [sender, bytes] : held_) received_.push_back({sender, bytes});
  return received_;
}

void Mailbox::make_room() {
  if (std::exchange(stalled_, false)) options_.wake();
}

void Mailbox::settle(std::uint32_t step) {
  const std::lock_guard lock(mutex_);
  settled_ = std::max(settled_, step);
}

std::string Mailbox::finish() {
  std::unique_lock lock(mutex_);
  const auto began = Clock::now();
  finishing_ = true;
  options_.wake();
  while (true) {
    throw_if_over();
    std::string away;
    bool all_spent = true;
    auto next = Clock::time_point::max();
    for (const auto& [process, neighbour] : neighbours_) {
      // A neighbour that has finished and left has got everything, whether it said so or not.
      if (neighbour.finished && (!neighbour.present || neighbour.heard_finish)) continue;
      const auto end = deadline(neighbour, began);
      if (Clock::now() >= end) {
        if (!away.empty()) away += ", ";
        away += name_of(process);
      } else {
        all_spent = false;
        next = std::min(next, end);
      }
    }
    if (all_spent) return away;
    changed_.wait_until(lock, next);
  }
}

void Mailbox::give_up(ErrorKind kind, const std::string& text, std::uint32_t origin,
                      const std::string& reason) {
  const std::lock_guard lock(mutex_);
  set_over(kind, text, origin, reason);
}

void Mailbox::wait_for_news_to_spread(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [&] {
    return std::ranges::all_of(neighbours_, [](const auto& entry) {
      const auto& neighbour = entry.second;
      return neighbour.heard_over || (neighbour.was_present && !neighbour.present);
    });
  });
}

// Both directions of a link are needed: who cannot be reached gets no messages, and soon has none
// to send.
Mailbox::Clock::time_point Mailbox::away_until(const Neighbour& neighbour) const {
  auto end = Clock::time_point::max();
  if (!neighbour.present) {
    // One that can be reached knows better why it does not connect, and will say so.
    const auto wait = wait_for(neighbour.was_present);
    end = neighbour.lost_at + (neighbour.reached ? wait + wait / 2 : wait);
  }
  if (!neighbour.reached)
    end = std::min(end, neighbour.unreached_at + wait_for(neighbour.held.has_value()));
  return end;
}

Mailbox::Clock::time_point Mailbox::deadline(const Neighbour& neighbour,
                                             Clock::time_point began) const {
  const auto silent = (neighbour.waits ? 2 : 1) * options_.round_wait;
  return std::min(away_until(neighbour), std::max(began, neighbour.progress_at) + silent);
}

void Mailbox::throw_if_over() const {
  if (over_) throw Error(over_->kind, over_->text);
}

void Mailbox::set_over(ErrorKind kind, std::string text, std::uint32_t origin, std::string reason) {
  if (!over_) over_ = {kind, std::move(text), origin, std::move(reason)};
  changed_.notify_all();
  options_.wake();
}

// Somebody's time is up. Says what this process knows of it, and not more: others may reach it.
void Mailbox::blame(std::uint32_t process, std::uint32_t step, Clock::time_point began) {
  const auto& neighbour = neighbours_.at(process);
  const auto& name = name_of(process);
  const auto& here = name_of(process_);
  const auto now = Clock::now();
  if (!neighbour.reached || !neighbour.present) {
    const auto in_end = neighbour.lost_at + wait_for(neighbour.was_present);
    const auto since =
        neighbour.present || now < in_end ? neighbour.unreached_at : neighbour.lost_at;
    const auto why = neighbour.reached
                         ? concat(here, " reaches it, but it does not connect to ", here)
                         : neighbour.why_unreached;
    set_over(ErrorKind::network,
             concat(name, " has been out of reach for ", tenths(now - since), " s",
                    why.empty() ? "" : ": ", why),
             process_,
             neighbour.reached ? name + " does not connect to it" : "it cannot reach " + name);
  } else {
    const auto waited = tenths(now - std::max(began, neighbour.progress_at));
    set_over(
        ErrorKind::network,
        concat(name, " is connected, but has sent nothing for ",
               collecting_ ? concat("step ", step) : "the end of the run", " in ", waited, " s"),
        process_, concat("it has waited ", waited, " s in vain for ", name));
  }
}

std::vector<std::uint32_t> Mailbox::missing(std::uint32_t step) const {
  const auto& messages = inbox_.at(step);
  std::vector<std::uint32_t> processes;
  for (const auto agent : hosting_.sources(process_)) {
    const auto process = hosting_.process_of(agent);
    if (!messages.contains(agent) && (processes.empty() || processes.back() != process))
      processes.push_back(process);
  }
  return processes;
}

// Of all whose messages are missing, whoever's time is up first ends the run, and the others are
// told: nobody is woken for a part of a step, so no single one may be waited for.
void Mailbox::wait_for_all(std::unique_lock<std::mutex>& lock, std::uint32_t step) {
  const auto began = Clock::now();
  auto line_due = began + kLongRound;
  while (true) {
    throw_if_over();
    const auto processes = missing(step);
    if (processes.empty()) return;
    const auto end_of = [&](std::uint32_t p) { return deadline(neighbours_.at(p), began); };
    const auto first = *std::ranges::min_element(processes, {}, end_of);
    const auto now = Clock::now();
    if (now >= end_of(first)) {
      blame(first, step, began);
    } else if (now >= line_due) {
      line_due = Clock::time_point::max();
      say_who_is_missing(lock, step);
    } else {
      pause(lock, std::min(end_of(first), line_due));
    }
  }
}

void Mailbox::pause(std::unique_lock<std::mutex>& lock, Clock::time_point until) {
  if (!options_.drive) {
    changed_.wait_until(lock, until);
    return;
  }
  lock.unlock();
  options_.drive(until);
  lock.lock();
}

void Mailbox::say_who_is_missing(std::unique_lock<std::mutex>& lock, std::uint32_t step) {
  std::string names;
  for (const auto process : missing(step))
    names += (names.empty() ? "" : ", ") + name_of(process) +
             (neighbours_.at(process).present ? "" : " (not connected)");
  lock.unlock();
  options_.report(concat("waiting for ", names, " in step ", step));
  lock.lock();
}

void Mailbox::begin_sending(std::uint32_t neighbour, std::uint32_t step, Cursor& cursor,
                            std::uint32_t seen) {
  const std::lock_guard lock(mutex_);
  auto& to = neighbours_.at(neighbour);
  require(step > to.forgotten, ErrorKind::protocol, name_of(neighbour), " asks for step ", step,
          " again; it said before that all up to step ", to.forgotten, " is safe");
  to.held = std::max(seen, step == kNothing ? 0 : step - 1);
  to.reached = somebody_agrees_ = true;
  to.refuses = false;
  to.reached_at = Clock::now();
  changed_.notify_all();
  const auto at = std::ranges::find_if(to.outbox, [&](const auto& p) { return p.step >= step; });
  cursor = {.next = to.first + static_cast<std::uint64_t>(at - to.outbox.begin())};
}

std::optional<Mailbox::Parcel> Mailbox::next(std::uint32_t neighbour, Cursor& cursor) {
  const std::lock_guard lock(mutex_);
  auto& to = neighbours_.at(neighbour);
  if (over_ && !cursor.said_over) {
    cursor.said_over = true;
    return Parcel{Parcel::Kind::gave_up, 0, over_->origin, nullptr, over_->reason};
  }
  cursor.next = std::max(cursor.next, to.first);
  if (cursor.next < to.first + to.outbox.size()) return to.outbox[cursor.next++ - to.first];
  if (finishing_ && !cursor.said_finished) {
    cursor.said_finished = true;
    return Parcel{Parcel::Kind::finished, 0, 0, nullptr, std::string()};
  }
  return std::nullopt;
}

void Mailbox::acknowledged(std::uint32_t neighbour, std::uint32_t settled) {
  const std::lock_guard lock(mutex_);
  auto& to = neighbours_.at(neighbour);
  while (!to.outbox.empty() && to.outbox.front().step <= settled) {
    to.forgotten = to.outbox.front().step;
    to.outbox.pop_front();
    ++to.first;
  }
}

void Mailbox::mark(std::uint32_t neighbour, bool Neighbour::*flag) {
  const std::lock_guard lock(mutex_);
  neighbours_.at(neighbour).*flag = true;
  changed_.notify_all();
}

void Mailbox::unreached(std::uint32_t neighbour, const std::string& why) {
  const std::lock_guard lock(mutex_);
  auto& to = neighbours_.at(neighbour);
  to.why_unreached = why;
  if (!to.reached) return;
  to.reached = false;
  const auto now = Clock::now();
  if (now - to.reached_at > kLasting || to.progress_at >= to.reached_at) to.unreached_at = now;
  changed_.notify_all();
}

void Mailbox::refused(std::uint32_t neighbour, const std::string& why) {
  const std::lock_guard lock(mutex_);
  auto& to = neighbours_.at(neighbour);
  to.why_unreached = why;
  to.refuses = true;
  const bool by_all =
      std::ranges::all_of(neighbours_, [](const auto& entry) { return entry.second.refuses; });
  if (by_all && !somebody_agrees_)
    set_over(ErrorKind::protocol, why, process_, "its neighbours refuse it");
}

void Mailbox::gone_on(std::uint32_t neighbour) {
  const std::lock_guard lock(mutex_);
  auto& to = neighbours_.at(neighbour);
  to.gone_on = to.finished = to.heard_finish = true;
  changed_.notify_all();
}

void Mailbox::connected(std::uint32_t neighbour) {
  const std::lock_guard lock(mutex_);
  auto& from = neighbours_.at(neighbour);
  from.present = from.was_present = somebody_agrees_ = true;
  from.brought_something = from.waits = false;
  from.connected_at = Clock::now();
  if (options_.links) options_.links->connected(name_of(neighbour));
  changed_.notify_all();
}

void Mailbox::lost(std::uint32_t neighbour) {
  const std::lock_guard lock(mutex_);
  auto& from = neighbours_.at(neighbour);
  from.present = from.waits = false;
  const auto now = Clock::now();
  if (!from.was_lost || from.brought_something || now - from.connected_at > kLasting)
    from.lost_at = now;
  from.was_lost = true;
  if (options_.links) options_.links->lost(name_of(neighbour));
  changed_.notify_all();
}

std::uint32_t Mailbox::wanted_from(std::uint32_t neighbour) {
  const std::lock_guard lock(mutex_);
  auto step = kNothing;
  for (const auto& [agent, last] : last_)
    if (hosting_.process_of(agent) == neighbour) step = std::min(step, last + 1);
  return step;
}

bool Mailbox::deliver(std::uint32_t neighbour, std::uint32_t step, std::uint32_t sender,
                      Payload& bytes) {
  const std::lock_guard lock(mutex_);
  const auto last = last_.find(sender);
  require(last != last_.end() && hosting_.process_of(sender) == neighbour, ErrorKind::protocol,
          name_of(neighbour), " sent a message of agent ", sender, ", which it does not host");
  auto& from = neighbours_.at(neighbour);
  from.brought_something = true;
  if (std::exchange(from.waits, false)) changed_.notify_all();
  if (step <= last->second) {  // sent again; it is here already
    if (step > from.sent_again) from.progress_at = Clock::now();
    from.sent_again = std::max(from.sent_again, step);
    return true;
  }
  const bool is_next = step == last->second + 1 || (last->second == 0 && !options_.may_restart);
  require(is_next, ErrorKind::protocol, name_of(neighbour), " sent step ", step, " of agent ",
          sender, " after step ", last->second);
  if (over_) return true;
  const bool full = inbox_.size() >= kStepsAhead && !inbox_.contains(step);
  stalled_ |= full;
  if (full) return false;
  last->second = step;
  from.progress_at = Clock::now();
  from.sent_again = 0;
  inbox_[step][sender] = std::move(bytes);
  if (options_.trace) options_.trace->arrived(step, name_of(neighbour), Clock::now());
  if (step != collecting_) return true;
  if (options_.links) options_.links->arrived(name_of(neighbour));
  // Nobody needs to wake up for a part of a step.
  if (inbox_[step].size() == hosting_.sources(process_).size()) changed_.notify_all();
  return true;
}

std::uint32_t Mailbox::settled() {
  const std::lock_guard lock(mutex_);
  return settled_;
}

std::optional<Mailbox::Parcel> Mailbox::over() {
  const std::lock_guard lock(mutex_);
  if (!over_) return std::nullopt;
  return Parcel{Parcel::Kind::gave_up, 0, over_->origin, nullptr, over_->reason};
}

bool Mailbox::waits_for_others_than(std::uint32_t neighbour) {
  const std::lock_guard lock(mutex_);
  if (!collecting_ || !inbox_.contains(*collecting_)) return false;
  return std::ranges::any_of(missing(*collecting_), [&](auto p) { return p != neighbour; });
}

void Mailbox::says_it_waits(std::uint32_t neighbour, bool waits) {
  const std::lock_guard lock(mutex_);
  auto& from = neighbours_.at(neighbour);
  if (from.waits == waits) return;
  from.waits = waits;
  changed_.notify_all();
}

}  // namespace porter
