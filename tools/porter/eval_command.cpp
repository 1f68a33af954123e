// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "core/text.hpp"
#include "data/catalog.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "porter/config/config.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "train/evaluator.hpp"
#include "train/run_data.hpp"

namespace porter::cli {
namespace {

namespace fs = std::filesystem;

struct EvalArguments {
  std::string model, data, which = "x_mean", predictions;
  bool on_train = false, json = false;
};

// x_mean, x_best, x_out, or row I of X for "agent:I".
std::vector<double> pick_parameters(const Npz& arrays, const std::string& which,
                                    const std::string& source) {
  const auto spec = split_spec(which);
  if (spec.name != "agent") return member(arrays, which, source).values;
  const auto& X = member(arrays, "X", source);
  const auto agent = spec.number<std::size_t>();
  require(X.shape.size() == 2 && agent && *agent < X.shape[0], ErrorKind::usage,
          "--which: expected agent:I with I below ", X.shape.empty() ? 0 : X.shape[0], ", found \"",
          which, "\"");
  const auto begin = X.values.begin() + static_cast<std::ptrdiff_t>(*agent * X.shape[1]);
  return {begin, begin + static_cast<std::ptrdiff_t>(X.shape[1])};
}

void write_predictions(const std::string& file, const Model& model, const Dataset& data,
                       std::span<const double> x) {
  const auto label_text = [&](double value) {
    return shortest(data.classes.empty() ? value : data.classes[static_cast<std::size_t>(value)]);
  };
  std::string text = "label,prediction\n";
  for (std::size_t row = 0; row < data.rows(); ++row)
    text += data.is_void(row) ? ",\n"  // its features are unknown, or its label is
                              : label_text(double{data.labels[row]}) + "," +
                                    label_text(model.predict(x, data[row])) + "\n";
  write_file(file, text);
}

// A file stands in for the run's test set, so that its labels and features mean what they did in
// training. Two files are images and labels.
void use_files(const EvalArguments& options, DataOptions& data) {
  const auto comma = options.data.find(',');
  const auto first = options.data.substr(0, comma);
  const auto second = comma == options.data.npos ? "" : options.data.substr(comma + 1);
  for (const auto& file : {first, second})
    require(fs::is_regular_file(file) || (file.empty() && comma == options.data.npos),
            ErrorKind::usage,
            "--data: expected a file, or one of the known data sets (porter data "
            "list); found \"",
            file, "\"");
  require(!options.on_train, ErrorKind::usage,
          "--train evaluates on the run's training set; it does not go with --data FILE");
  const bool idx = !data.train_images.empty();
  require(idx || !data.train.empty(), ErrorKind::usage,
          "--data: the run was trained on the known "
          "data set ",
          data.name, "; expected the name of a known data set, found the file ", first);
  require(idx == !second.empty(), ErrorKind::usage, "--data: the run was trained on ",
          idx ? "images and labels; expected IMAGES,LABELS" : "one table; expected one file",
          ", found \"", options.data, "\"");
  data.test = idx ? "" : first;
  data.test_images = idx ? first : "";
  data.test_labels = second;
}

// What to evaluate on. A known data set must have the classes that the run was trained with.
DataPair choose_data(const EvalArguments& options, DataOptions data) {
  const bool named = data.train.empty() && data.train_images.empty();
  if (options.data.empty() || (named && options.data == data.name)) return load_data(data);
  const auto& known = known_data();
  if (std::ranges::find(known, options.data, &KnownData::name) == known.end() ||
      fs::is_regular_file(options.data)) {
    use_files(options, data);
    return load_data(data);
  }
  const auto classes = load_data(data).train.classes;
  data.name = options.data;
  data.classes.clear();  // a known set has its own
  data.features = 0;
  for (auto* file : {&data.train, &data.test, &data.train_images, &data.train_labels,
                     &data.test_images, &data.test_labels})
    file->clear();
  auto pair = load_data(data);
  require(pair.train.classes == classes, ErrorKind::usage, "--data ", options.data,
          ": its classes are not those that the run was trained with");
  return pair;
}

void evaluate(const EvalArguments& options) {
  const fs::path given = options.model;
  const fs::path file = fs::is_directory(given) ? given / "model.npz" : given;
  const auto config = load_config(file.parent_path() / "config.toml");
  const auto pair = choose_data(options, data_options(config));
  require(options.on_train || pair.test, ErrorKind::usage, pair.source,
          " has no test set; use --train to evaluate on the training set");
  const Dataset& data = options.on_train ? pair.train : *pair.test;
  const auto rows = data.rows() - data.void_rows();

  const auto model = make_model(config.model, data.features, data.classes.size());
  const auto x = pick_parameters(load_npz(file), options.which, file.string());
  require(x.size() == model->dim(), ErrorKind::usage, file.string(), " holds d = ", x.size(),
          " parameters, but the data asks for d = ", model->dim());
  ThreadPool pool;
  const auto result = evaluate_point(*model, data, x, false, pool);
  if (!options.predictions.empty()) write_predictions(options.predictions, *model, data, x);

  const bool classes = !data.classes.empty();
  if (options.json) {
    nlohmann::ordered_json json = {{"model", file.string()},
                                   {"which", options.which},
                                   {"data", pair.source},
                                   {"rows", rows},
                                   {"loss", result.loss}};
    json["accuracy"] = classes ? nlohmann::ordered_json(result.accuracy) : nullptr;
    json["majority_rate"] = classes ? nlohmann::ordered_json(majority_rate(data)) : nullptr;
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  fmt::print("{} of {} on {} rows of {}\n", options.which, file.string(), rows, pair.source);
  if (!pair.warning.empty()) fmt::print("warning: {}\n", pair.warning);
  fmt::print("loss {:.6g}", result.loss);
  if (classes)
    fmt::print(", accuracy {:.2f} % (majority class {:.2f} %)", 100 * result.accuracy,
               100 * majority_rate(data));
  fmt::print("\n");
}

}  // namespace

void add_eval_command(App& app) {
  auto* command = app.add_subcommand("eval", "use a trained model: loss, accuracy, predictions");
  auto options = std::make_shared<EvalArguments>();
  command->add_option("model", options->model, "a run folder, or its model.npz")->required();
  command->add_option("--data", options->data,
                      "a file in the training data's format (IMAGES,LABELS for IDX files), or a "
                      "known data set (default: the run's own test set)");
  command->add_option("--which", options->which, "x_mean, x_best, x_out or agent:I");
  command->add_flag("--train", options->on_train, "evaluate on the training set");
  command->add_option("--predictions", options->predictions,
                      "write label,prediction lines to this CSV file");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] { evaluate(*options); });
}

}  // namespace porter::cli
