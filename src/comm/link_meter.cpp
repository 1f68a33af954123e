// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/monitor.hpp"

#include <algorithm>
#include <cassert>

namespace porter {
namespace {

double seconds(LinkMeter::Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

LinkMeter::Link& LinkMeter::find(const std::string& neighbour) {
  const auto at = std::ranges::find(links_, neighbour, [](const Link& link) -> const std::string& {
    return link.status.neighbour;
  });
  assert(at != links_.end());
  return *at;
}

void LinkMeter::add(const std::string& neighbour) {
  const std::lock_guard lock(mutex_);
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
