// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/transport.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace porter {
namespace {

using namespace std::chrono_literals;

RoundTrace::Clock::time_point at(std::chrono::microseconds time) {
  return RoundTrace::Clock::time_point(1s + time);
}

TEST(RoundTrace, SaysWhatLiesBetweenTheMessages) {
  RoundTrace trace(4);
  trace.posted(1, at(0us), at(10us));
  trace.arrived(1, "agent-2", at(50us));
  trace.waited(1, at(100us), at(130us));
  trace.taken(1, at(150us));
  trace.posted(2, at(200us), at(210us));
  const auto events = nlohmann::json::parse(trace.to_json());
  const std::vector<std::tuple<std::string, double, double>> expected = {
      {"post", 0, 10},   {"from agent-2", 50, 0}, {"gradient", 10, 90}, {"wait", 100, 30},
      {"take", 130, 20}, {"mix", 150, 50},        {"post", 200, 10}};
  ASSERT_EQ(events.size(), expected.size()) << events;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [name, begin, length] = expected[i];
    EXPECT_EQ(events[i]["name"], name);
    EXPECT_EQ(events[i]["pid"], 4);
    EXPECT_NEAR(events[i]["ts"].get<double>(), 1e6 + begin, 1e-3) << name;
    EXPECT_EQ(events[i]["ph"], length > 0 ? "X" : "i") << name;
    EXPECT_NEAR(events[i].value("dur", 0.0), length, 1e-3) << name;
  }
}

TEST(RoundTrace, KeepsTheFirstEventsOnly) {
  RoundTrace trace(0);
  for (std::size_t i = 0; i < RoundTrace::kMaxEvents + 10; ++i) trace.arrived(1, "a", at(0us));
  const auto text = trace.to_json();
  std::size_t events = 0;  // a parser would take seconds
  for (auto at = text.find("\"ph\""); at != text.npos; at = text.find("\"ph\"", at + 1)) ++events;
  EXPECT_EQ(events, RoundTrace::kMaxEvents);
  const auto end = text.find_last_not_of(" \n");
  EXPECT_EQ(text.substr(end - 1, 2), "}]");
}

}  // namespace
}  // namespace porter
