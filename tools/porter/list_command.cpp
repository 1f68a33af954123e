// SPDX-License-Identifier: Apache-2.0
// porter list: the names that a config may have.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "core/registry.hpp"
#include "data/catalog.hpp"
#include "io/json.hpp"
#include "porter/algo/algorithm.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/graph/graph.hpp"
#include "porter/graph/mixing.hpp"
#include "porter/model/model.hpp"

namespace porter::cli {
namespace {

struct ListEntry {
  std::string name, help;
};

template <class Row>
std::vector<ListEntry> entries_of(const std::vector<Row>& table, std::string Row::*name,
                                  std::string Row::*help) {
  std::vector<ListEntry> entries;
  for (const auto& row : table) entries.push_back({row.*name, row.*help});
  return entries;
}

struct Kind {
  const char* name;
  std::vector<ListEntry> entries;
};

std::vector<Kind> kinds() {
  return {{"algorithms", entries_of(algorithm_table(), &AlgorithmInfo::name, &AlgorithmInfo::help)},
          {"compressors",
           entries_of(compressor_table(), &CompressorInfo::grammar, &CompressorInfo::help)},
          {"models", entries_of(model_table(), &ModelInfo::name, &ModelInfo::help)},
          {"graphs", entries_of(graph_table(), &GraphInfo::example, &GraphInfo::help)},
          {"mixings", entries_of(mixing_table(), &MixingInfo::example, &MixingInfo::help)},
          {"data", entries_of(known_data(), &KnownData::name, &KnownData::what)}};
}

void list(const std::string& name, bool json) {
  const auto known = kinds();
  const auto& all = find_named(known, name, "kind").entries;
  if (json) {
    auto array = nlohmann::ordered_json::array();
    for (const auto& entry : all) array.push_back({{"name", entry.name}, {"help", entry.help}});
    fmt::print("{}\n", json_text(array, 2));
    return;
  }
  std::size_t width = 0;
  for (const auto& entry : all) width = std::max(width, entry.name.size());
  for (const auto& entry : all) fmt::print("{:<{}}  {}\n", entry.name, width, entry.help);
}

}  // namespace

void add_list_command(App& app) {
  struct Options {
    std::string kind;
    bool json = false;
  };
  auto* command = app.add_subcommand("list", "the names that a config may have");
  const auto options = std::make_shared<Options>();
  command->add_option("kind", options->kind, names_of(kinds()), "KIND")->required();
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] { list(options->kind, options->json); });
}

}  // namespace porter::cli
