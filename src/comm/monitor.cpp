// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/transport.hpp"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

namespace porter {
namespace {

double seconds(LinkMeter::Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

double microseconds(RoundTrace::Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

void RoundTrace::add(std::string name, std::uint32_t step, Clock::time_point begin,
                     Clock::time_point end) {
  if (events_.size() < kMaxEvents) events_.push_back({std::move(name), step, begin, end});
}

void RoundTrace::posted(std::uint32_t step, Clock::time_point begin, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  if (last_ != Clock::time_point{}) add(step == step_ ? "gradient" : "mix", step, last_, begin);
  add("post", step, begin, end);
  step_ = step;
  last_ = end;
}

void RoundTrace::waited(std::uint32_t step, Clock::time_point begin, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  add("gradient", step, last_, begin);
  add("wait", step, begin, end);
  last_ = end;
}

void RoundTrace::taken(std::uint32_t step, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  add("take", step, last_, end);
  last_ = end;
}

void RoundTrace::arrived(std::uint32_t step, const std::string& from, Clock::time_point at) {
  const std::lock_guard lock(mutex_);
  add("from " + from, step, at, at);
}

std::string RoundTrace::to_json() const {
  const std::lock_guard lock(mutex_);
  auto list = nlohmann::ordered_json::array();
  for (const auto& [name, step, begin, end] : events_) {
    const bool at_once = begin == end;
    nlohmann::ordered_json event = {{"name", name},
                                    {"ph", at_once ? "i" : "X"},
                                    {"ts", microseconds(begin.time_since_epoch())},
                                    {"pid", process_},
                                    {"tid", at_once ? 1 : 0},
                                    {"args", {{"round", step}}}};
    if (at_once)
      event["s"] = "t";
    else
      event["dur"] = microseconds(end - begin);
    list.push_back(std::move(event));
  }
  return list.dump();
}

LinkMeter::Link& LinkMeter::find(const std::string& neighbour) {
  const auto at = std::ranges::find(links_, neighbour, [](const Link& link) -> const std::string& {
    return link.status.neighbour;
  });
  assert(at != links_.end());
  return *at;
}

void LinkMeter::add(const std::string& neighbour) {
  const std::lock_guard lock(mutex_);
  // One transport may come after another.
  for (auto& link : links_)
    if (link.status.neighbour == neighbour) {
      link.status.connected = false;
      link.missing_since.reset();
      return;
    }
  links_.push_back({.status = {.neighbour = neighbour}, .missing_since = std::nullopt});
}

void LinkMeter::connected(const std::string& neighbour) {
  const std::lock_guard lock(mutex_);
  auto& link = find(neighbour);
  link.status.connected = true;
  link.status.reconnects = link.connections++;
}

void LinkMeter::lost(const std::string& neighbour) {
  const std::lock_guard lock(mutex_);
  find(neighbour).status.connected = false;
}

void LinkMeter::missing(const std::string& neighbour, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  find(neighbour).missing_since = now;
}

void LinkMeter::arrived(const std::string& neighbour, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  auto& link = find(neighbour);
  if (link.missing_since) link.status.wait_seconds += seconds(now - *link.missing_since);
  link.missing_since.reset();
}

std::vector<LinkStatus> LinkMeter::links(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  std::vector<LinkStatus> all;
  for (const auto& link : links_) {
    all.push_back(link.status);
    if (!link.missing_since) continue;
    all.back().waiting_seconds = seconds(now - *link.missing_since);
    all.back().wait_seconds += all.back().waiting_seconds;
  }
  return all;
}

}  // namespace porter
