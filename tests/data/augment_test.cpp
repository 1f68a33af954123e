// SPDX-License-Identifier: Apache-2.0
#include "porter/data/augment.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "porter/core/error.hpp"

namespace porter {
namespace {

std::vector<ImageMove> moves_of(const Augmentation& augmentation, std::uint32_t agent,
                                std::uint32_t round, std::uint32_t record) {
  std::vector<ImageMove> moves(augmentation.copies);
  draw_moves(augmentation, 1, agent, round, record, moves);
  return moves;
}

TEST(Augment, TextsReadBack) {
  for (const char* text : {"none", "shift:0x1", "shift:1x4", "shift-flip:2x16", "shift:64x64"})
    EXPECT_EQ(to_string(parse_augmentation(text)), text);
  for (const char* bad : {"", "shift", "shift:1", "shift:1x0", "shift:x4", "shift:1x65",
                          "shift:65x1", "shift:-1x4", "flip:1x4", "shift:1x4x2", "none:1x1"})
    EXPECT_THROW(parse_augmentation(bad), Error) << bad;
}

TEST(Augment, AMovedImageIsTheImageElsewhereWithItsBorderRepeated) {
  const ImageShape shape{2, 3};
  const std::vector<float> image = {1, 2, 3,  //
                                    4, 5, 6};
  const auto moved = [&](const ImageMove& move) {
    std::vector<float> out(6);
    move_image(shape, image, move, out);
    return out;
  };
  using Pixels = std::vector<float>;
  EXPECT_EQ(moved({}), image);
  EXPECT_EQ(moved({.down = 1}), (Pixels{4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(moved({.right = 1}), (Pixels{2, 3, 3, 5, 6, 6}));
  EXPECT_EQ(moved({.down = -9, .right = -1}), (Pixels{1, 1, 2, 1, 1, 2}));
  EXPECT_EQ(moved({.flipped = true}), (Pixels{3, 2, 1, 6, 5, 4}));
}

// 9 places and two sides, 40,000 copies: an expected 2,222 of each, deviation 46.
TEST(Augment, AllPlacesAndSidesAreAlikeLikely) {
  const Augmentation augmentation{.pixels = 1, .copies = 5, .flips = true};
  std::map<std::tuple<int, int, bool>, int> counts;
  for (std::uint32_t record = 0; record < 8000; ++record)
    for (const auto& [down, right, flipped] : moves_of(augmentation, 2, 3, record))
      ++counts[{down, right, flipped}];
  ASSERT_EQ(counts.size(), 18U);
  for (const auto& [move, count] : counts) EXPECT_NEAR(count, 40000 / 18, 250);
}

TEST(Augment, CopiesOfARecordDependOnItsNumberAgentAndRoundAlone) {
  const Augmentation augmentation{.pixels = 9, .copies = 6};
  const auto text = [&](std::uint32_t agent, std::uint32_t round, std::uint32_t record) {
    std::vector<int> all;
    for (const auto& [down, right, flipped] : moves_of(augmentation, agent, round, record)) {
      EXPECT_FALSE(flipped);
      all.insert(all.end(), {down, right});
    }
    return all;
  };
  const auto one = text(0, 1, 7);
  EXPECT_EQ(text(0, 1, 7), one);
  for (const auto& other : {text(1, 1, 7), text(0, 2, 7), text(0, 1, 6), text(0, 1, 8)})
    EXPECT_NE(other, one);
}

}  // namespace
}  // namespace porter
