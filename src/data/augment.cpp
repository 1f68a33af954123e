// SPDX-License-Identifier: Apache-2.0
#include "porter/data/augment.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "core/text.hpp"
#include "porter/core/error.hpp"
#include "porter/core/rng.hpp"

namespace porter {
namespace {

constexpr std::size_t kMostPixels = 64, kMostCopies = 64;
constexpr std::size_t kWordsOfABlock = 4;

// A whole number from -most to most, from 15 bits.
int place(std::uint32_t bits, std::size_t most) {
  const auto drawn = ((bits & 0x7FFF) * (2 * static_cast<std::uint32_t>(most) + 1)) >> 15;
  return static_cast<int>(drawn) - static_cast<int>(most);
}

}  // namespace

Augmentation parse_augmentation(std::string_view text) {
  if (text == "none") return {};
  const auto spec = split_spec(text);
  const auto argument = spec.argument.value_or("");
  const auto cross = std::min(argument.find('x'), argument.size());
  const auto pixels = parse_number<std::size_t>(argument.substr(0, cross));
  const auto copies =
      parse_number<std::size_t>(argument.substr(std::min(cross + 1, argument.size())));
  require((spec.name == "shift" || spec.name == "shift-flip") && pixels && copies &&
              *pixels <= kMostPixels && *copies >= 1 && *copies <= kMostCopies,
          ErrorKind::usage, "expected none, shift:PIXELSxCOPIES or shift-flip:PIXELSxCOPIES with ",
          "up to ", kMostPixels, " pixels and 1 to ", kMostCopies,
          " copies, such as shift:1x4, found \"", text, "\"");
  return {*pixels, *copies, spec.name == "shift-flip"};
}

std::string to_string(const Augmentation& augmentation) {
  if (!augmentation) return "none";
  return concat(augmentation.flips ? "shift-flip:" : "shift:", augmentation.pixels, 'x',
                augmentation.copies);
}

void draw_moves(const Augmentation& augmentation, std::uint64_t seed, std::uint32_t agent,
                std::uint32_t round, std::uint32_t record, std::span<ImageMove> moves) {
  assert(moves.size() == augmentation.copies);
  const auto blocks = (augmentation.copies + kWordsOfABlock - 1) / kWordsOfABlock;
  std::array<std::uint32_t, kMostCopies> words;
  const auto drawn = std::span(words).first(augmentation.copies);
  philox_words(seed, Draw::augment, agent, round, static_cast<std::uint32_t>(record * blocks),
               drawn);
  for (std::size_t i = 0; i < moves.size(); ++i)
    moves[i] = {.down = place(drawn[i], augmentation.pixels),
                .right = place(drawn[i] >> 15, augmentation.pixels),
                .flipped = augmentation.flips && drawn[i] >> 31 == 1};
}

void move_image(const ImageShape& shape, std::span<const float> image, const ImageMove& move,
                std::span<float> out) {
  const auto inside = [](std::size_t at, int by, std::size_t side) {
    const auto moved = static_cast<std::ptrdiff_t>(at) + by;
    return static_cast<std::size_t>(
        std::clamp(moved, std::ptrdiff_t{0}, static_cast<std::ptrdiff_t>(side) - 1));
  };
  for (std::size_t y = 0; y < shape.height; ++y) {
    const auto row = image.subspan(inside(y, move.down, shape.height) * shape.width, shape.width);
    for (std::size_t x = 0; x < shape.width; ++x) {
      const auto from = inside(x, move.right, shape.width);
      out[y * shape.width + x] = row[move.flipped ? shape.width - 1 - from : from];
    }
  }
}

}  // namespace porter
