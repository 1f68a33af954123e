// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "data/catalog.hpp"
#include "data/summary.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"
#include "porter/data/load.hpp"

namespace porter::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DataArguments {
  DataOptions data{.bias = false};  // as they are, without scaling and bias
  bool json = false;
  std::vector<std::string> names;  // to fetch
  std::string into, split = "shuffled";
  std::size_t agents = 10;
  std::uint64_t seed = 1;

  /// What `info` and `split` look at.
  void add_data_to(App& command) {
    command.add_option("name", data.name, "a known data set, see `porter data list`");
    command.add_option("--train", data.train, "instead: a libsvm, csv or npz file (.gz too)");
    command.add_option("--test", data.test, "its test set");
    command.add_option("--features", data.features, "feature columns");
    command.add_option("--classes", data.classes, "labels in the order of the class numbers");
    command.add_option("--train-images", data.train_images, "instead: IDX images");
    command.add_option("--train-labels", data.train_labels, "their IDX labels");
    command.add_option("--test-images", data.test_images, "IDX images of the test set");
    command.add_option("--test-labels", data.test_labels, "their IDX labels");
    command.add_flag("--regression", data.regression, "labels are numbers, not classes");
    command.add_flag("--private", data.guarantee,
                     "read files as with secret noise: records that do not fit --classes and "
                     "--features count for nothing, and how many is said");
    command.add_flag("--json", json, "print JSON");
  }
};

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

Json describe_set(const Dataset& data, const Dataset& train) {
  Json json = {{"rows", data.rows()}, {"void_rows", data.void_rows()}, {"density", density(data)}};
  if (const auto majority = majority_class(train)) {
    json["class_counts"] = class_counts(data);
    json["majority_rate"] = class_rate(data, *majority);
  }
  return json;
}

void print_set(const char* name, const Dataset& data, const Dataset& train) {
  fmt::print("{}: {} rows, {:.4g} % of the entries are not zero\n", name, data.rows(),
             100 * density(data));
  const auto counts = class_counts(data);
  for (std::size_t c = 0; c < counts.size(); ++c)
    fmt::print("  class {} (label {:g}): {} rows\n", c, data.classes[c], counts[c]);
  if (const auto majority = majority_class(train))
    fmt::print("  always answering class {} is right on {:.3f} %\n", *majority,
               100 * class_rate(data, *majority));
}

void info(const DataArguments& options) {
  const auto data = load_data(options.data);
  if (options.json) {
    Json json = {{"source", data.source},
                 {"features", data.train.features},
                 {"sparse", data.train.sparse()},
                 {"classes", data.train.classes},
                 {"train", describe_set(data.train, data.train)},
                 {"test", nullptr}};
    if (data.test) json["test"] = describe_set(*data.test, data.train);
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  fmt::print("{}\n{} features, stored {}\n", data.source, data.train.features,
             data.train.sparse() ? "sparse" : "dense");
  if (!data.warning.empty()) fmt::print("warning: {}\n", data.warning);
  print_set("training set", data.train, data.train);
  if (data.test)
    print_set("test set", *data.test, data.train);
  else
    fmt::print("no test set\n");
  if (options.data.train.empty() && options.data.train_images.empty()) {
    const auto& known = known_data(options.data.name);
    fmt::print("licence: {}\n", known.licence);
    if (!known.citation.empty()) fmt::print("cite: {}\n", known.citation);
  }
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
  const auto data = load_data(options.data).train;
  const auto rows = partition_rows(data, options.agents, parse_split(options.split), options.seed);
  const auto m = rows.size() / options.agents;
  Json agents = Json::array();
  std::string table = fmt::format("{:>6} {:>8}", "agent", "samples");
  for (const double label : data.classes)
    table += fmt::format(" {:>8}", "[" + fmt::format("{:g}", label) + "]");
  for (std::size_t agent = 0; agent < options.agents; ++agent) {
    const auto counts = class_counts(data, std::span(rows).subspan(agent * m, m));
    agents.push_back({{"agent", agent}, {"samples", m}, {"class_counts", counts}});
    table += fmt::format("\n{:>6} {:>8}", agent, m);
    for (const auto count : counts) table += fmt::format(" {:>8}", count);
  }
  const auto left_over = data.rows() - rows.size();
  if (options.json)
    fmt::print("{}\n", json_text({{"split", options.split},
                                  {"seed", options.seed},
                                  {"classes", data.classes},
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
      data->add_subcommand("info", "rows, features, density, classes and majority rates");
  options->add_data_to(*info_command);
  info_command->callback([options] { info(*options); });

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
