// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "core/text.hpp"
#include "data/catalog.hpp"
#include "eval_result.hpp"
#include "io/file.hpp"
#include "porter/config/config.hpp"
#include "porter/core/error.hpp"
#include "porter/model/saved_model.hpp"
#include "report/text.hpp"
#include "train/run_data.hpp"

namespace porter::cli {
namespace {

namespace fs = std::filesystem;

struct EvalArguments {
  std::string model, data, which = "x_mean", predictions, html;
  bool on_train = false, json = false;
};

// label,prediction; of several targets label_1,...,prediction_1,..., by their names where they have
// some.
std::string target_header(const Dataset& data, const Schema* schema) {
  std::string text;
  for (const char* what : {"label", "prediction"})
    for (std::size_t o = 0; o < data.outputs; ++o) {
      const auto name = schema ? schema->labels[o].name : std::to_string(o + 1);
      text += (text.empty() ? "" : ",") +
              escape_csv(data.outputs == 1 ? what : concat(what, '_', name));
    }
  return text;
}

void write_target_predictions(const std::string& file, const Model& model, const Dataset& data,
                              std::span<const double> x, const Schema* schema) {
  std::string text = target_header(data, schema);
  std::vector<double> predictions(data.outputs);
  for (std::size_t row = 0; row < data.rows(); ++row) {
    std::vector<std::string> cells(2 * data.outputs);
    if (!data.is_void(row)) {
      model.predict_targets(x, data[row], predictions);
      for (std::size_t o = 0; o < data.outputs; ++o) {
        cells[o] = shortest(double{data.targets(row)[o]});
        cells[data.outputs + o] = shortest(predictions[o]);
      }
    }
    text += fmt::format("\n{}", fmt::join(cells, ","));
  }
  write_file(file, text + "\n");
}

// An even sample of the rows that count, for a picture.
std::vector<std::vector<TargetPoint>> sample_targets(const Model& model, const Dataset& data,
                                                     std::span<const double> x) {
  constexpr std::size_t kMostMarks = 500;
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < data.rows(); ++row)
    if (!data.is_void(row)) rows.push_back(row);
  const auto marks = std::min(rows.size(), kMostMarks);
  std::vector<std::vector<TargetPoint>> targets(data.outputs);
  std::vector<double> predictions(data.outputs);
  for (std::size_t i = 0; i < marks; ++i) {
    const auto row = rows[i * rows.size() / marks];
    model.predict_targets(x, data[row], predictions);
    for (std::size_t o = 0; o < data.outputs; ++o)
      targets[o].push_back({double{data.targets(row)[o]}, predictions[o]});
  }
  return targets;
}

void write_predictions(const std::string& file, const Model& model, const Dataset& data,
                       std::span<const double> x, const Schema* schema) {
  if (data.classes.empty()) return write_target_predictions(file, model, data, x, schema);
  const auto label_text = [&](double value) {
    return escape_csv(data.classes[static_cast<std::size_t>(value)]);
  };
  std::string text = "label,prediction\n";
  for (std::size_t row = 0; row < data.rows(); ++row)
    text += data.is_void(row) ? ",\n"  // its features are unknown, or its label is
                              : label_text(double{data.labels[row]}) + "," +
                                    label_text(model.predict(x, data[row])) + "\n";
  write_file(file, text);
}

// Labels as the card has them; files without a schema have numbers.
std::vector<double> numeric_classes(const ModelCard& card, const std::string& source) {
  std::vector<double> numbers;
  for (const auto& name : card.classes) {
    const auto number = parse_number<double>(name);
    require(number.has_value(), ErrorKind::usage, source,
            ": its classes are texts, so the file needs a schema, and the model has none");
    numbers.push_back(*number);
  }
  return numbers;
}

// A table, or IMAGES,LABELS: read as the model's card says, nothing of the training is needed.
DataPair load_file(const EvalArguments& options, const SavedModel& saved) {
  const auto& card = saved.card;
  const auto comma = options.data.find(',');
  const bool idx = comma != options.data.npos && !fs::exists(options.data);
  DataOptions data{.bias = false, .regression = card.classes.empty(), .cache = false};
  if (idx) {
    data.train_images = options.data.substr(0, comma);
    data.train_labels = options.data.substr(comma + 1);
  } else {
    data.train = options.data;
    data.schema = card.schema;
  }
  if (!data.schema) {
    if (!data.regression) data.classes = numeric_classes(card, saved.source);
    data.features = card.given_features();
  }
  auto pair = load_data(data);
  card.scaling.apply(pair.train);
  pair.test = std::move(pair.train);
  return pair;
}

// The test set of a known data set, scaled as the model's was.
DataPair load_known(const EvalArguments& options, const SavedModel& saved) {
  auto pair = load_data({.name = options.data, .bias = false});
  require(pair.test.has_value(), ErrorKind::usage, options.data, " has no test set");
  saved.card.scaling.apply(*pair.test);
  return pair;
}

// What the run in the model's folder was trained and tested on.
DataPair load_own(const EvalArguments& options, const SavedModel& saved) {
  const auto file = fs::path(saved.source).parent_path() / "config.toml";
  require(fs::exists(file), ErrorKind::usage, "there is no config.toml beside ", saved.source,
          ", so its own data are not known; give others with --data");
  auto config = load_config(file);
  if (measures_statistics(config)) config.data.schema = saved.card.schema;  // with what was found
  auto pair = load_data(data_options(config));
  require(options.on_train || pair.test, ErrorKind::usage, pair.source,
          " has no test set; use --train to evaluate on the training set, or --data FILE");
  if (options.on_train) pair.test = std::move(pair.train);
  return pair;
}

DataPair choose_data(const EvalArguments& options, const SavedModel& saved) {
  if (options.data.empty()) return load_own(options, saved);
  require(!options.on_train, ErrorKind::usage,
          "--train evaluates on the run's training set; it does not go with --data");
  const bool known = std::ranges::count(known_data(), options.data, &KnownData::name) > 0;
  require(known || fs::exists(options.data) || options.data.find(',') != options.data.npos,
          ErrorKind::usage,
          "--data: expected a file, or one of the known data sets (porter data list); found \"",
          options.data, "\"");
  return known && !fs::is_regular_file(options.data) ? load_known(options, saved)
                                                     : load_file(options, saved);
}

// The model answers with numbers of its own classes, or with so many targets, whatever the data
// has: files may have changed since the training.
void require_like(const ModelCard& card, const Dataset& data, const std::string& source,
                  const std::string& data_source) {
  require(data.classes == card.classes, ErrorKind::usage, data_source,
          ": its classes are not those that ", source, " was trained with");
  require(data.outputs == card.outputs, ErrorKind::io, data_source, ": expected ", card.outputs,
          " targets in each row as ", source, " has, found ", data.outputs);
  require(data.features == card.features, ErrorKind::usage, source, " has ", card.features,
          " features, the data ", data.features);
}

void evaluate(const EvalArguments& options) {
  const auto saved = load_model(options.model);
  const auto pair = choose_data(options, saved);
  const Dataset& data = *pair.test;
  const auto model = saved.card.make();
  const auto x = saved.parameters(options.which);
  require_like(saved.card, data, saved.source, options.data.empty() ? pair.source : options.data);
  ThreadPool pool;
  EvalResult result{.model = saved.source,
                    .which = options.which,
                    .data = pair.source,
                    .rows = data.rows() - data.void_rows(),
                    .evaluation = evaluate_point(*model, data, x, false, pool),
                    .classes = data.classes,
                    .majority_rate = {},
                    .assessment = {}};
  if (!data.classes.empty()) {
    result.majority_rate = majority_rate(data);
    result.assessment = assess(*model, data, x);
  } else if (!options.html.empty()) {
    result.targets = sample_targets(*model, data, x);
  }
  if (!options.predictions.empty())
    write_predictions(options.predictions, *model, data, x, saved.card.schema.get());
  if (!options.html.empty()) write_file(options.html, eval_page(result));
  if (!pair.warning.empty() && !options.json) fmt::print("warning: {}\n", pair.warning);
  fmt::print("{}", options.json ? eval_json(result) : eval_text(result));
  if (!options.html.empty() && !options.json) fmt::print("page: {}\n", options.html);
}

}  // namespace

void add_eval_command(App& app) {
  auto* command = app.add_subcommand(
      "eval", "how good a trained model is: loss, accuracy, confusion, AUC, calibration");
  auto options = std::make_shared<EvalArguments>();
  command->add_option("model", options->model, "model.npz, or the folder of a run or agent")
      ->required();
  command->add_option("--data", options->data,
                      "a file with labels, in the training data's format (IMAGES,LABELS for IDX "
                      "files), or a known data set (default: the run's own test set)");
  command->add_option("--html", options->html, "write a page with pictures to this file");
  command->add_option("--which", options->which, "x_mean, x_best, x_out, x_ema or agent:I");
  command->add_flag("--train", options->on_train, "evaluate on the training set");
  command->add_option("--predictions", options->predictions,
                      "write label,prediction lines to this CSV file");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] { evaluate(*options); });
}

}  // namespace porter::cli
