// SPDX-License-Identifier: Apache-2.0
#include "dense_positions.hpp"

#include <algorithm>
#include <string>

#include "porter/core/error.hpp"

namespace porter {
namespace {

std::vector<std::string_view> comma_separated(std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

const ParameterBlock& find_block(std::string_view name, std::span<const ParameterBlock> blocks) {
  const auto found = std::ranges::find(blocks, name, &ParameterBlock::name);
  if (found != blocks.end()) return *found;
  std::string known;
  for (const auto& block : blocks) known += (known.empty() ? "" : ", ") + block.name;
  fail(ErrorKind::usage, "expected names of parameters, separated by commas: ", known, "; found \"",
       name, "\"");
}

}  // namespace

std::vector<std::uint32_t> dense_positions(std::string_view names,
                                           std::span<const ParameterBlock> blocks) {
  std::vector<std::uint32_t> positions;
  if (names.empty()) return positions;
  for (const auto name : comma_separated(names)) {
    const auto& block = find_block(name, blocks);
    for (std::size_t j = 0; j < block.size(); ++j)
      positions.push_back(static_cast<std::uint32_t>(block.offset + j));
  }
  std::ranges::sort(positions);
  require(std::ranges::adjacent_find(positions) == positions.end(), ErrorKind::usage,
          "a name is there twice: \"", names, "\"");
  return positions;
}

}  // namespace porter
