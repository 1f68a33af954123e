// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "core/text.hpp"
#include "data/catalog.hpp"
#include "data/summary.hpp"
#include "data_arguments.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "porter/data/load.hpp"

namespace porter::cli {
namespace {

using Json = nlohmann::ordered_json;

// "built in", the folder that holds all files, or what is missing.
struct Whereabouts {
  bool available = false;
  std::string text;
};

Whereabouts find(const KnownData& data, const DataFolders& folders) {
  if (data.files.empty()) return {true, "built in"};
  std::string missing, folder;
  for (const auto& file : data.files) {
    if (const auto path = find_data_file(file, folders))
      folder = path->parent_path().string();
    else
      missing += (missing.empty() ? "missing " : ", ") + file.name;
  }
  return missing.empty() ? Whereabouts{true, folder} : Whereabouts{false, missing};
}

void list(bool json) {
  const auto folders = data_folders();
  Json all = Json::array();
  if (!json)
    fmt::print("{:<17} {:>7} {:>7} {:>9} {:>8}  {}\n", "name", "train", "test", "features",
               "classes", "where");
  for (const auto& data : known_data()) {
    const auto where = find(data, folders);
    if (json)
      all.push_back({{"name", data.name},
                     {"what", data.what},
                     {"train_rows", data.train_rows},
                     {"test_rows", data.test_rows},
                     {"features", data.features},
                     {"classes", data.classes.size()},
                     {"available", where.available},
                     {"where", where.text},
                     {"licence", data.licence},
                     {"citation", data.citation}});
    else
      fmt::print("{:<17} {:>7} {:>7} {:>9} {:>8}  {}\n", data.name, data.train_rows, data.test_rows,
                 data.features, data.classes.size(), where.text);
  }
  if (json)
    fmt::print("{}\n", json_text(all, 2));
  else
    fmt::print("\nLooked in {}.\nTo download: porter data fetch NAME\n", describe(folders));
}

void fetch(const DataArguments& options) {
  const auto& [names, into] = std::tie(options.names, options.into);
  const auto cache = data_folders().cache;
  require(!into.empty() || cache.has_value(), ErrorKind::usage,
          "neither XDG_CACHE_HOME nor HOME is set; say where to put the files with --into");
  const std::filesystem::path folder = into.empty() ? *cache : std::filesystem::path(into);
  for (const auto& name : names)
    require(!known_data(name).files.empty(), ErrorKind::usage, name,
            " is built in: there is nothing to fetch");
  for (const auto& name : names)
    for (const auto& file : known_data(name).files) {
      const bool fetched = fetch_file(file, folder);
      fmt::print("{}: {}\n", (folder / file.name).string(),
                 fetched ? "fetched, checksum right" : "already there, checksum right");
    }
}

void split(const DataArguments& options) {
  const auto data = options.load().train;
  const auto rows = partition_rows(data, options.agents, parse_split(options.split), options.seed);
  const auto m = rows.size() / options.agents;
  auto left_over = data.rows();
  Json agents = Json::array();
  std::string table = fmt::format("{:>6} {:>8}", "agent", "samples");
  for (const auto& label : data.classes)
    table += fmt::format(" {:>8}", "[" + without_controls(label) + "]");
  for (std::size_t agent = 0; agent < options.agents; ++agent) {
    const auto run = std::span(rows).subspan(agent * m, m);
    const auto own = m - static_cast<std::size_t>(std::ranges::count(run, kNoRow));
    const auto counts = class_counts(data, run.first(own));
    agents.push_back({{"agent", agent}, {"samples", own}, {"class_counts", counts}});
    table += fmt::format("\n{:>6} {:>8}", agent, own);
    for (const auto count : counts) table += fmt::format(" {:>8}", count);
    left_over -= own;
  }
  if (options.json)
    fmt::print("{}\n", json_text({{"split", options.split},
                                  {"seed", options.seed},
                                  {"classes", class_labels(data)},
                                  {"left_over", left_over},
                                  {"agents", agents}},
                                 2));
  else
    fmt::print("{}\n\nColumns in [] count the rows of a label. Rows left over: {}.\n", table,
               left_over);
}

}  // namespace

void add_data_command(App& app) {
  auto* data = app.add_subcommand("data", "data sets: what is there, what is in it, who gets what");
  data->require_subcommand(1);
  data->footer(
      "Files are looked for in the folder that PORTER_DATA names, then in "
      "$XDG_CACHE_HOME/porter/data (or ~/.cache/porter/data), which fetch fills.");

  const auto options = std::make_shared<DataArguments>();

  auto* list_command = data->add_subcommand("list", "known data sets and where they are");
  list_command->add_flag("--json", options->json, "print JSON");
  list_command->callback([options] { list(options->json); });

  auto* info_command =
      data->add_subcommand("info", "rows, columns, gaps, classes and majority rates");
  options->add_data_to(*info_command);
  auto* holdout = info_command->add_option(
      "--holdout", options->data.holdout,
      "for data without a test set: the share of the rows that data.holdout makes one", "SHARE");
  holdout->range(0.0, 1.0);
  info_command
      ->add_option("--fold", options->fold, "the same by equal parts, as data.fold does", "I/K")
      ->excludes(holdout);
  info_command->add_option("--html", options->html, "write a page with pictures to this file");
  info_command->callback([options] { print_data_info(*options); });

  add_data_schema(*data);

  auto* fetch_command = data->add_subcommand(
      "fetch", "download data sets from their public homes with curl, and check them");
  fetch_command->add_option("name", options->names, "a9a, mnist, mushrooms, phishing")->required();
  fetch_command->add_option("--into", options->into,
                            "folder to put them, instead of the cache folder");
  fetch_command->callback([options] { fetch(*options); });

  auto* split_command =
      data->add_subcommand("split", "how a split deals the training rows and classes to agents");
  options->add_data_to(*split_command);
  split_command->add_option("--agents", options->agents, "number of agents");
  split_command->add_option("--split", options->split,
                            "shuffled, contiguous, by-label or dirichlet:A");
  split_command->add_option("--seed", options->seed, "seed of the shuffle");
  split_command->callback([options] { split(*options); });
}

}  // namespace porter::cli
