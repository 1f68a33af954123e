// SPDX-License-Identifier: Apache-2.0
// porter predict: a trained model on new records, read and written as they pass by.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "commands.hpp"
#include "core/text.hpp"
#include "data/schema_rows.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/io/npy.hpp"
#include "porter/model/saved_model.hpp"
#include "progress.hpp"
#include "report/text.hpp"

namespace porter::cli {
namespace {

struct PredictArguments {
  std::string model, data, out = "-", which = "x_mean";
  bool proba = false;
};

// Where the lines go: a file appears when it is whole, the standard output at once.
class Output {
 public:
  explicit Output(const std::string& path) {
    if (path != "-") file_ = std::make_unique<FileWriter>(path);
  }
  void write(std::string_view text) {
    held_ += text;
    if (held_.size() >= kHeld) flush();
  }
  void finish() {
    flush();
    if (file_) file_->finish();
  }

 private:
  static constexpr std::size_t kHeld = std::size_t{1} << 16;

  void flush() {
    if (file_) {
      file_->write(held_);
    } else {
      require(std::fwrite(held_.data(), 1, held_.size(), stdout) == held_.size() &&
                  std::fflush(stdout) == 0,
              ErrorKind::io, "cannot write the predictions: ", reason());
    }
    held_.clear();
  }

  std::unique_ptr<FileWriter> file_;
  std::string held_;
};

class Predictor {
 public:
  Predictor(const SavedModel& saved, std::span<const double> x, bool proba)
      : card_(saved.card), x_(x), model_(card_.make()), proba_(proba && !card_.classes.empty()) {
    require(!proba || proba_, ErrorKind::usage,
            "--proba: this model predicts numbers, which have no probabilities");
  }

  std::string header() const {
    if (card_.schema && card_.outputs > 1) return target_names() + "\n";
    std::string text = "prediction";
    if (card_.classes.empty())
      for (std::size_t o = 2; o <= card_.outputs; ++o) text += concat(",prediction_", o);
    for (const auto& name : card_.classes)
      if (proba_) text += "," + escape_csv("p(" + name + ")");
    return text + "\n";
  }

  /// The row is as records were before they were transformed and scaled.
  std::string line(Dataset& row) const {
    card_.scaling.apply(row);
    require(row.features == card_.features, ErrorKind::io, "expected ", card_.features,
            " features, found ", row.features);
    return card_.classes.empty() ? numbers(row[0]) : class_name(row[0]);
  }

 private:
  std::string target_names() const {
    std::string text;
    for (const auto& label : card_.schema->labels)
      text += (text.empty() ? "" : ",") + escape_csv(label.name);
    return text;
  }

  std::string class_name(const Sample& sample) const {
    const auto best = static_cast<std::size_t>(model_->predict(x_, sample));
    std::string text = escape_csv(card_.classes[best]);
    if (!proba_) return text + "\n";
    std::vector<double> all(card_.classes.size());
    model_->probabilities(x_, sample, all);
    for (const double p : all) text += "," + shortest(p);
    return text + "\n";
  }

  // In the units of the table.
  std::string numbers(const Sample& sample) const {
    std::vector<double> all(card_.outputs);
    model_->predict_targets(x_, sample, all);
    std::string text;
    for (std::size_t o = 0; o < all.size(); ++o)
      text += (text.empty() ? "" : ",") +
              shortest(card_.schema ? card_.schema->labels[o].unscaled(all[o]) : all[o]);
    return text + "\n";
  }

  const ModelCard& card_;
  std::span<const double> x_;
  std::unique_ptr<const Model> model_;
  bool proba_;
};

// A table as the schema sees it; the label may be missing.
void predict_table(const ModelCard& card, const Predictor& predictor, TextInput& input,
                   Output& out) {
  SchemaRows rows(input, *card.schema, {.label = false});
  while (rows.next()) {
    Dataset row;
    row.features = rows.encoder().features();
    rows.add_to(row);
    row.labels = {0};
    out.write(predictor.line(row));
  }
}

std::optional<float> to_number(std::string_view field) {
  return parse_number<float>(field.starts_with('+') ? field.substr(1) : field);
}

// Without a schema: rows of the numbers that the model was trained on, a header or none.
void predict_numbers(const ModelCard& card, const Predictor& predictor, TextInput& input,
                     Output& out) {
  const auto features = card.given_features();
  CsvReader reader(input.reader(), input.name(), guess_separator(input.start()));
  bool first = true;
  while (reader.next()) {
    const auto fields = reader.fields();
    require(fields.size() == features, ErrorKind::io, reader.place(), ": expected ", features,
            " columns, the features without the label, found ", fields.size());
    // A header, by the rule that training files have: none of its fields is a number.
    if (std::exchange(first, false) &&
        std::ranges::none_of(fields, [](auto field) { return to_number(field).has_value(); }))
      continue;
    Dataset row;
    row.features = features;
    for (std::size_t column = 0; column < features; ++column) {
      const auto value = to_number(fields[column]);
      if (!value || !std::isfinite(*value))
        fail(ErrorKind::io, reader.place(), ", column ", column + 1,
             ": expected a finite number, found '", without_controls(std::string(fields[column])),
             "'");
      row.values.push_back(*value);
    }
    row.labels = {0};
    out.write(predictor.line(row));
  }
}

// The rows of X in an .npz, which are numbers as well; it may hold labels, too.
void predict_array(const ModelCard& card, const Predictor& predictor, const std::string& path,
                   Output& out) {
  require(!card.schema, ErrorKind::usage, "--data ", path,
          ": this model has a schema, so its records are rows of a table with named columns");
  const auto features = card.given_features();
  const auto arrays = load_npz(path);
  const auto& x = member(arrays, "X", path);
  require(x.shape.size() == 2 && x.shape[1] == features, ErrorKind::io, path, ": expected X with ",
          features, " columns, the features of the model, found ",
          fmt::format("{}", fmt::join(x.shape, " x ")));
  for (std::size_t i = 0; i < x.shape[0]; ++i) {
    Dataset row;
    row.features = features;
    for (const double value : std::span(x.values).subspan(i * features, features)) {
      row.values.push_back(static_cast<float>(value));
      require(std::isfinite(row.values.back()), ErrorKind::io, path, ", row ", i,
              ": expected a finite number, found ", value);
    }
    row.labels = {0};
    out.write(predictor.line(row));
  }
}

void predict_text(const ModelCard& card, const Predictor& predictor, const std::string& path,
                  Output& out) {
  StatusLine status(std::chrono::seconds(5));
  TextInput input(path, [&](double share) {
    if (status.terminal() && status.due())
      status.show(fmt::format("{}: {:.0f} %", path, 100 * share));
  });
  require(!input.empty(), ErrorKind::io, input.name(), ": the file is empty");
  card.schema ? predict_table(card, predictor, input, out)
              : predict_numbers(card, predictor, input, out);
  status.close(true);
}

void predict(const PredictArguments& options) {
  const auto saved = load_model(options.model);
  const Predictor predictor(saved, saved.parameters(options.which), options.proba);
  Output out(options.out);
  out.write(predictor.header());
  const auto read = options.data.ends_with(".npz") ? predict_array : predict_text;
  read(saved.card, predictor, options.data, out);
  out.finish();
}

}  // namespace

void add_predict_command(App& app) {
  auto* command = app.add_subcommand(
      "predict", "a trained model on new records: needs its file and nothing of the training");
  const auto options = std::make_shared<PredictArguments>();
  command->add_option("model", options->model, "model.npz, or the folder of a run or agent")
      ->required();
  command
      ->add_option("--data", options->data,
                   "a csv or tsv file (.gz, .zst) with the columns of the model's schema, the "
                   "label not needed; for a model without a schema also an .npz with X; - is stdin")
      ->required();
  command->add_option("--out", options->out, "the csv file to write, or - for stdout");
  command->add_flag("--proba", options->proba, "the probability of every class as well");
  command->add_option("--which", options->which, "x_mean, x_best, x_out, x_ema or agent:I");
  command->callback([options] { predict(*options); });
}

}  // namespace porter::cli
