// SPDX-License-Identifier: Apache-2.0
// porter list: the names that a config may have.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "data/catalog.hpp"
#include "io/json.hpp"
#include "porter/algo/algorithm.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/choice.hpp"
#include "porter/graph/graph.hpp"
#include "porter/graph/mixing.hpp"
#include "porter/model/model.hpp"

namespace porter::cli {

enum class Kind { algorithms, compressors, models, graphs, mixings, data };

}  // namespace porter::cli

template <>
struct porter::Choices<porter::cli::Kind> {
  using Kind = cli::Kind;
  static constexpr Choice<Kind> table[] = {
      {"algorithms", Kind::algorithms}, {"compressors", Kind::compressors},
      {"models", Kind::models},         {"graphs", Kind::graphs},
      {"mixings", Kind::mixings},       {"data", Kind::data}};
};

namespace porter::cli {
namespace {

struct Entry {
  std::string name, help;
};

template <class Row>
std::vector<Entry> entries_of(const std::vector<Row>& table, std::string Row::*name,
                              std::string Row::*help) {
  std::vector<Entry> entries;
  for (const auto& row : table) entries.push_back({row.*name, row.*help});
  return entries;
}

std::vector<Entry> entries(Kind kind) {
  switch (kind) {
    case Kind::algorithms:
      return entries_of(algorithm_table(), &AlgorithmInfo::name, &AlgorithmInfo::help);
    case Kind::compressors:
      return entries_of(compressor_table(), &CompressorInfo::grammar, &CompressorInfo::help);
    case Kind::models:
      return entries_of(model_table(), &ModelInfo::name, &ModelInfo::help);
    case Kind::graphs:
      return entries_of(graph_table(), &GraphInfo::example, &GraphInfo::help);
    case Kind::mixings:
      return entries_of(mixing_table(), &MixingInfo::example, &MixingInfo::help);
    case Kind::data:
      return entries_of(known_data(), &KnownData::name, &KnownData::what);
  }
  return {};
}

void list(Kind kind, bool json) {
  const auto all = entries(kind);
  if (json) {
    auto array = nlohmann::ordered_json::array();
    for (const auto& [name, help] : all) array.push_back({{"name", name}, {"help", help}});
    std::cout << json_text(array, 2) << '\n';
    return;
  }
  std::size_t width = 0;
  for (const auto& entry : all) width = std::max(width, entry.name.size());
  for (const auto& [name, help] : all) fmt::print("{:<{}}  {}\n", name, width, help);
}

}  // namespace

void add_list_command(App& app) {
  struct Options {
    Kind kind = Kind::algorithms;
    bool json = false;
  };
  auto* command = app.add_subcommand("list", "the names that a config may have");
  const auto options = std::make_shared<Options>();
  command->add_option("kind", options->kind, choice_list<Kind>(all_choices<Kind>()), "KIND")
      ->required();
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] { list(options->kind, options->json); });
}

}  // namespace porter::cli
