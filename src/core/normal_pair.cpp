// SPDX-License-Identifier: Apache-2.0
#include "core/normal_pair.hpp"

namespace porter {

NormalPair normal_pair(const PhiloxStream& stream, std::uint64_t pair) {
  const auto block = static_cast<std::uint32_t>(pair / 2);
  const std::size_t at = 2 * (pair % 2);
  const auto words = stream.block(block);
  if (words[at] >= kRefineBelow) return plain_pair(words[at], words[at + 1]);
  const auto more = stream.block(block | kRefinementBlock);
  return refined_pair(words[at], words[at + 1], join_words(more[at], more[at + 1]));
}

}  // namespace porter
