// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "io/json_text.hpp"
#include "porter/core/error.hpp"
#include "porter/core/text.hpp"
#include "porter/io/file.hpp"
#include "porter/io/npy.hpp"
#include "porter/run/config.hpp"
#include "porter/run/evaluator.hpp"

namespace porter::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
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
    text +=
        label_text(double{data.labels[row]}) + "," + label_text(model.predict(x, data[row])) + "\n";
  write_file(file, text);
}

void evaluate(const Options& options) {
  const fs::path given = options.model;
  const fs::path file = fs::is_directory(given) ? given / "model.npz" : given;
  auto config = load_config(file.parent_path() / "config.toml");
  if (fs::is_regular_file(options.data))
    config.data.test = options.data;
  else if (!options.data.empty())
    config.data.name = options.data;
  const auto pair = load_data(config.data);
  require(options.on_train || pair.test, ErrorKind::usage, pair.source,
          " has no test set; use --train to evaluate on the training set");
  const Dataset& data = options.on_train ? pair.train : *pair.test;

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
                                   {"rows", data.rows()},
                                   {"loss", result.loss}};
    json["accuracy"] = classes ? nlohmann::ordered_json(result.accuracy) : nullptr;
    json["majority_rate"] = classes ? nlohmann::ordered_json(majority_rate(data)) : nullptr;
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  fmt::print("{} of {} on {} rows of {}\n", options.which, file.string(), data.rows(), pair.source);
  fmt::print("loss {:.6g}", result.loss);
  if (classes)
    fmt::print(", accuracy {:.2f} % (majority class {:.2f} %)", 100 * result.accuracy,
               100 * majority_rate(data));
  fmt::print("\n");
}

}  // namespace

void add_eval_command(App& app) {
  auto* command = app.add_subcommand("eval", "use a trained model: loss, accuracy, predictions");
  auto options = std::make_shared<Options>();
  command->add_option("model", options->model, "a run folder, or its model.npz")->required();
  command->add_option("--data", options->data,
                      "a file in the training data's format, or a known data set (default: the "
                      "run's own test set)");
  command->add_option("--which", options->which, "x_mean, x_best, x_out or agent:I")
      ->capture_default_str();
  command->add_flag("--train", options->on_train, "evaluate on the training set");
  command->add_option("--predictions", options->predictions,
                      "write label,prediction lines to this CSV file");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options] { evaluate(*options); });
}

}  // namespace porter::cli
