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

nlohmann::ordered_json to_json(const Kind& kind) {
  auto array = nlohmann::ordered_json::array();
  for (const auto& entry : kind.entries)
    array.push_back({{"name", entry.name}, {"help", entry.help}});
  return array;
}

void print_kind(const Kind& kind, const char* indent) {
  std::size_t width = 0;
  for (const auto& entry : kind.entries) width = std::max(width, entry.name.size());
  for (const auto& entry : kind.entries)
    fmt::print("{}{:<{}}  {}\n", indent, entry.name, width, entry.help);
}

void list(const std::string& name, bool json) {
  const auto known = kinds();
  const auto& kind = find_named(known, name, "kind");
  if (json)
    fmt::print("{}\n", json_text(to_json(kind), 2));
  else
    print_kind(kind, "");
}

void list_all(bool json) {
  nlohmann::ordered_json all;
  for (const auto& kind : kinds()) {
    if (json) {
      all[kind.name] = to_json(kind);
      continue;
    }
    fmt::print("{}\n", kind.name);
    print_kind(kind, "  ");
  }
  if (json) fmt::print("{}\n", json_text(all, 2));
}

}  // namespace

void add_list_command(App& app) {
  struct Options {
    std::string kind;
    bool json = false;
  };
  auto* command =
      app.add_subcommand("list", "the names that a config may have, of one kind or all");
  const auto options = std::make_shared<Options>();
  command->add_option("kind", options->kind, names_of(kinds()), "KIND");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] {
    if (options->kind.empty())
      list_all(options->json);
    else
      list(options->kind, options->json);
  });
}

std::vector<std::string> list_kinds() {
  std::vector<std::string> names;
  for (const auto& kind : kinds()) names.emplace_back(kind.name);
  return names;
}

}  // namespace porter::cli
