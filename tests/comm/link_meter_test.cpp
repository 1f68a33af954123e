// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/transport.hpp"

#include <gtest/gtest.h>

namespace porter {
namespace {

using namespace std::chrono_literals;

const LinkMeter::Clock::time_point kStart{1h};

TEST(LinkMeter, CountsConnectionsAfterTheFirst) {
  LinkMeter meter;
  meter.add("a");
  meter.add("b");
  for (int i = 0; i < 3; ++i) meter.connected("b");
  meter.connected("a");
  meter.lost("a");
  const auto links = meter.links();
  ASSERT_EQ(links.size(), 2U);
  EXPECT_EQ(links[0].neighbour, "a");
  EXPECT_FALSE(links[0].connected);
  EXPECT_EQ(links[0].reconnects, 0U);
  EXPECT_TRUE(links[1].connected);
  EXPECT_EQ(links[1].reconnects, 2U);
}

TEST(LinkMeter, AWaitCountsWhileItGoesOnAndOnce) {
  LinkMeter meter;
  meter.add("a");
  meter.missing("a", kStart);
  EXPECT_DOUBLE_EQ(meter.links(kStart + 2s)[0].wait_seconds, 2);
  meter.arrived("a", kStart + 3s);
  meter.arrived("a", kStart + 9s);  // a message that nobody waits for
  EXPECT_DOUBLE_EQ(meter.links(kStart + 10s)[0].wait_seconds, 3);
  meter.missing("a", kStart + 20s);
  meter.arrived("a", kStart + 21s);
  EXPECT_DOUBLE_EQ(meter.links(kStart + 30s)[0].wait_seconds, 4);
}

}  // namespace
}  // namespace porter
