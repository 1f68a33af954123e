// SPDX-License-Identifier: Apache-2.0
// A model that is linear in the raw values as coefficients by column:
//   score = intercept + sum over columns of what the column adds,
// with the schema's scaling, the run's scaling and the column of ones folded in.
#include <nlohmann/json.hpp>

#include "formats.hpp"
#include "io/json.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

using Json = nlohmann::ordered_json;

void require_linear(const SavedModel& saved) {
  const auto& card = saved.card;
  require(!find_model(card.model.name).layered, ErrorKind::usage, saved.source,
          ": json holds coefficients of logistic, linear and softmax models, and this is ",
          card.model.name, ", which has hidden layers; use --onnx or --header");
  require(card.scaling.kind != FeatureScale::unit, ErrorKind::usage, saved.source,
          ": json holds coefficients of raw values, and data.scale = \"unit\" divides each record "
          "by its own length; use --onnx or --header");
}

// A score as a function of the features of the table, before the run's scaling.
struct Score {
  double intercept = 0;
  std::vector<double> weights;
};

Score unscaled(const FeatureScaling& scaling, std::span<const double> weights, double bias) {
  const bool standard = scaling.kind == FeatureScale::standard;
  const double divisor = standard                                 ? scaling.deviation
                         : scaling.kind == FeatureScale::spectral ? scaling.factor
                                                                  : 1;
  Score score{bias, {}};
  for (const double weight : weights) {
    score.weights.push_back(weight / divisor);
    if (standard) score.intercept -= weight * scaling.mean / divisor;
  }
  return score;
}

// What it adds for a number x is coefficient * x; the rest of the scaling goes to the intercept.
Json number_json(const ColumnCode& code, Score& score) {
  const auto& column = code.column;
  const double weight = score.weights[code.feature];
  const double moved = -weight * code.shift() / code.divisor();
  score.intercept += moved;
  Json json = {{"coefficient", weight / code.divisor()}};
  if (column.low) {
    json["range"] = {*column.low, *column.high};
    json["outside"] = choice_text(column.outside);
  }
  if (column.missing == Missing::error)
    json["missing"] = nullptr;
  else
    json["missing"] = (column.missing == Missing::own ? score.weights[code.feature + 1]
                                                      : weight * column.scaled(column.fill)) -
                      moved;
  return json;
}

Json category_json(const ColumnCode& code, const Score& score) {
  const auto of = [&](std::int64_t place) {
    return place == ColumnCode::kRefused
               ? Json(nullptr)
               : Json(score.weights[code.feature + static_cast<std::size_t>(place)]);
  };
  Json values = Json::object();
  for (const auto& value : code.column.values) values[value] = of(code.texts.at(value));
  return {
      {"values", std::move(values)}, {"other", of(code.otherwise)}, {"missing", of(code.missing)}};
}

Json score_json(const ModelCard& card, Score score, const std::string& name) {
  Json json = {{"of", name}, {"intercept", 0.0}};
  if (!card.schema) {
    json["coefficients"] = score.weights;
  } else {
    Json columns = Json::object();
    for (const auto& code : column_codes(*card.schema))
      columns[code.column.name] = code.column.kind == ColumnKind::number
                                      ? number_json(code, score)
                                      : category_json(code, score);
    json["columns"] = std::move(columns);
  }
  json["intercept"] = score.intercept;
  return json;
}

// In the units of the table.
void undo_target_scale(const FlatModel& flat, std::size_t target, Score& score) {
  const double deviation = flat.target_deviations[target];
  score.intercept = score.intercept * deviation + flat.target_means[target];
  for (double& weight : score.weights) weight *= deviation;
}

std::string score_name(const ModelCard& card, const FlatModel& flat, std::size_t number) {
  if (flat.answer == Answer::one_score) return card.classes[1];
  if (flat.answer == Answer::scores) return card.classes[number];
  return card.schema ? card.schema->labels[number].name : "target " + std::to_string(number + 1);
}

const char* formula(Answer answer) {
  switch (answer) {
    case Answer::one_score:
      return "p(classes[1]) = 1 / (1 + exp(-score)); the class is classes[1] where score > 0";
    case Answer::scores:
      return "p(class c) = exp(score c) / sum of exp(score); the class has the largest score";
    case Answer::numbers:
      return "the prediction is the score";
  }
  return "";
}

}  // namespace

std::string to_coefficients(const SavedModel& saved, const FlatModel& flat) {
  require_linear(saved);
  const auto& card = saved.card;
  const auto& layer = flat.layers.front();
  Json scores = Json::array();
  for (std::size_t o = 0; o < layer.outputs; ++o) {
    const auto row = std::span(layer.weights).subspan(o * layer.inputs, layer.inputs);
    auto score = unscaled(card.scaling, row, layer.biases[o]);
    if (flat.answer == Answer::numbers) undo_target_scale(flat, o, score);
    scores.push_back(score_json(card, std::move(score), score_name(card, flat, o)));
  }
  const Json json = {
      {"format", "porter coefficients"},
      {"version", 1},
      {"model", card.model.name},
      {"classes", card.classes},
      {"score", card.schema
                    ? "intercept + sum over columns: coefficient * number, or the number of "
                      "the category's value; `missing` and `other` in their place; null: "
                      "no prediction"
                    : "intercept + sum of coefficients[i] * feature i"},
      {"answer", formula(flat.answer)},
      {"scores", std::move(scores)},
      {"about", Json::parse(card_json(card))}};
  return json_text(json, 1) + "\n";
}

}  // namespace porter
