// SPDX-License-Identifier: Apache-2.0
#include "flat_model.hpp"

#include "porter/core/error.hpp"
#include "porter/version.hpp"

namespace porter {
namespace {

// What the column of ones holds: `spectral` divides it like the others, in float.
double ones_value(const FeatureScaling& scaling) {
  return scaling.kind == FeatureScale::spectral ? double{static_cast<float>(1 / scaling.factor)}
                                                : 1.0;
}

AffineLayer layer_of(const ParameterBlock& weights, std::span<const double> x) {
  AffineLayer layer;
  layer.outputs = weights.shape.size() == 1 ? 1 : weights.shape[0];
  layer.inputs = weights.shape.back();
  const auto part = x.subspan(weights.offset, weights.size());
  layer.weights.assign(part.begin(), part.end());
  layer.biases.assign(layer.outputs, 0.0);
  return layer;
}

// The last input is the same for all records.
void fold_ones(AffineLayer& layer, double value) {
  const auto inputs = layer.inputs - 1;
  std::vector<double> weights;
  for (std::size_t o = 0; o < layer.outputs; ++o) {
    const auto* row = layer.weights.data() + o * layer.inputs;
    weights.insert(weights.end(), row, row + inputs);
    layer.biases[o] += row[inputs] * value;
  }
  layer.weights = std::move(weights);
  layer.inputs = inputs;
}

// Which features stand for texts that are not listed, and for none.
void find_rules(const std::vector<std::string>& missing_texts, ColumnCode& code) {
  const auto& column = code.column;
  if (column.missing == Missing::own) code.missing = static_cast<std::int64_t>(code.width) - 1;
  if (column.missing == Missing::fill) code.missing = code.texts.at(column.fill_value);
  if (column.unknown == Unknown::other)
    code.otherwise = static_cast<std::int64_t>(column.values.size());
  if (column.unknown == Unknown::missing) code.otherwise = code.missing;
  // A value that the schema lists is there, even if others call it missing.
  for (const auto& text : missing_texts) code.texts.emplace(text, code.missing);
}

}  // namespace

FlatModel flatten(const SavedModel& saved, const std::string& which) {
  const auto& card = saved.card;
  const auto x = saved.parameters(which);
  const auto& info = find_model(card.model.name);
  require(card.features > (card.scaling.bias ? 1U : 0U), ErrorKind::usage, saved.source,
          ": the model has no features, and predicts the same for all records");
  FlatModel flat{.activation = card.model.activation,
                 .answer = !card.classes.empty() && info.single_score() ? Answer::one_score
                           : card.classes.empty()                       ? Answer::numbers
                                                                        : Answer::scores,
                 .features = card.features - (card.scaling.bias ? 1 : 0)};
  const auto blocks = parameter_blocks(card.model, card.features, card.scores());
  for (std::size_t b = 0; b < blocks.size(); b += info.layered ? 2 : 1) {
    flat.layers.push_back(layer_of(blocks[b], x));
    if (!info.layered) continue;
    const auto biases = x.subspan(blocks[b + 1].offset, blocks[b + 1].size());
    flat.layers.back().biases.assign(biases.begin(), biases.end());
  }
  if (card.scaling.bias) fold_ones(flat.layers.front(), ones_value(card.scaling));
  flat.target_means.assign(card.outputs, 0);
  flat.target_deviations.assign(card.outputs, 1);
  for (std::size_t o = 0; card.schema && o < card.outputs; ++o) {
    flat.target_means[o] = card.schema->labels[o].mean;  // 0 and 1 of classes
    flat.target_deviations[o] = card.schema->labels[o].deviation;
  }
  return flat;
}

double ColumnCode::shift() const {
  if (column.scale == ColumnScale::range) return *column.low;
  return column.scale == ColumnScale::standard ? column.mean : 0;
}

double ColumnCode::divisor() const {
  if (column.scale == ColumnScale::range) return *column.high - *column.low;
  return column.scale == ColumnScale::standard ? column.deviation : 1;
}

std::vector<ColumnCode> column_codes(const Schema& schema) {
  std::vector<ColumnCode> codes;
  std::size_t feature = 0;
  for (const auto& column : schema.columns) {
    if (column.kind == ColumnKind::drop) continue;
    ColumnCode code{.column = column, .feature = feature, .width = column.features().size()};
    feature += code.width;
    for (const auto& value : column.values)
      code.texts.emplace(value, static_cast<std::int64_t>(code.texts.size()));
    if (column.kind == ColumnKind::category) find_rules(schema.format.missing, code);
    codes.push_back(std::move(code));
  }
  return codes;
}

std::string description(const ModelCard& card) {
  const auto features = card.features - (card.scaling.bias ? 1 : 0);
  return concat(card.model.name, " of ", features, " features, ",
                card.classes.empty() ? concat(card.outputs, " targets")
                                     : concat(card.classes.size(), " classes"),
                ", trained by porter, exported by porter ", kVersion);
}

}  // namespace porter
