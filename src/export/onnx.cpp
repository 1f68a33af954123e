// SPDX-License-Identifier: Apache-2.0
// A model as an ONNX graph:  columns -> features -> scaled features -> scores -> answer.
//
// Features are float32 wherever porter rounds to float, so that both see the same numbers. What
// `porter predict` refuses (a text that the schema does not know, a number out of range, no number
// at all) is a NaN among the features; a record that has one gets NaN for every probability or
// value, and an empty text for its class.
#include <algorithm>
#include <cmath>
#include <limits>

#include "formats.hpp"
#include "onnx_graph.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = std::numeric_limits<float>::max();
// A message of protocol buffers is smaller than 2 GiB.
constexpr std::size_t kMaxOnnxBytes = (std::size_t{1} << 31) - (std::size_t{1} << 24);

class OnnxExport {
 public:
  OnnxExport(const ModelCard& card, const FlatModel& flat, bool wide)
      : card_(card), flat_(flat), real_(wide ? OnnxType::float64 : OnnxType::float32) {}

  std::string model() {
    const auto features = card_.schema ? encoded_columns() : plain_features();
    const auto scores = layers(as_real(scaled(features)));
    refused_ = graph_.add("Or", {not_finite(features, OnnxType::float32),  //
                                 not_finite(scores, real_)});
    flat_.answer == Answer::numbers ? add_values(scores) : add_classes(scores);
    return graph_.model("porter", card_json(card_));
  }

 private:
  static constexpr auto kFloat = OnnxType::float32, kDouble = OnnxType::float64;

  OnnxName number(double value, OnnxType type) { return graph_.constant(value, type); }
  OnnxName where(const OnnxName& condition, double value, const OnnxName& otherwise,
                 OnnxType type) {
    return graph_.add("Where", {condition, number(value, type), otherwise});
  }
  OnnxName as_float(const OnnxName& tensor, OnnxType from) {
    return from == kFloat ? tensor : graph_.cast(tensor, kFloat);
  }
  OnnxName as_real(const OnnxName& floats) {
    return real_ == kFloat ? floats : graph_.cast(floats, real_);
  }

  // [N, 1]: whether a row has a NaN or an infinity.
  OnnxName not_finite(const OnnxName& rows, OnnxType type) {
    const auto finite =
        graph_.add("LessOrEqual", {graph_.add("Abs", {rows}), number(largest_finite(type), type)});
    const std::int64_t axes[] = {1};
    const auto all =
        graph_.add("ReduceMin", {graph_.cast(finite, kFloat)}, {OnnxGraph::integers("axes", axes)});
    return graph_.add("Less", {all, number(0.5, kFloat)});
  }
  static double largest_finite(OnnxType type) {
    return type == kFloat ? kLargest : std::numeric_limits<double>::max();
  }

  OnnxName plain_features() {
    return as_float(graph_.input("features", real_, flat_.features), real_);
  }

  OnnxName encoded_columns() {
    const auto codes = column_codes(*card_.schema);
    OnnxNames inputs, parts;
    for (const auto& code : codes)  // all names are taken before others are made
      inputs.push_back(graph_.input(
          code.column.name, code.column.kind == ColumnKind::number ? real_ : OnnxType::text, 1));
    for (std::size_t c = 0; c < codes.size(); ++c)
      if (codes[c].column.kind == ColumnKind::number)
        add_number(codes[c], inputs[c], parts);
      else
        parts.push_back(category(codes[c], inputs[c]));
    return graph_.add("Concat", parts, {OnnxGraph::integer("axis", 1)});
  }

  // Limits are compared in the type of the input: rounding keeps the order, so that a number in
  // range stays there.
  void add_number(const ColumnCode& code, const OnnxName& input, OnnxNames& parts) {
    const auto& column = code.column;
    auto missing = graph_.add("IsNaN", {input});
    auto value = input, outside = OnnxName();
    if (column.low) {
      const auto low = number(*column.low, real_), high = number(*column.high, real_);
      outside = graph_.add(
          "Or", {graph_.add("Less", {input, low}), graph_.add("Greater", {input, high})});
      if (column.outside == Outside::clamp)
        value = graph_.add("Min", {graph_.add("Max", {input, low}), high});
      if (column.outside == Outside::missing) missing = graph_.add("Or", {missing, outside});
    }
    value = scaled_number(code, value);
    const double instead = column.missing == Missing::own    ? 0
                           : column.missing == Missing::fill ? column.scaled(column.fill)
                                                             : kNan;
    value = where(missing, instead, value, kFloat);
    if (column.low && column.outside == Outside::error)
      value = where(outside, kNan, value, kFloat);
    else if (column.low)  // no rule is for what is not a number
      value = where(graph_.add("Greater", {graph_.add("Abs", {input}), number(kLargest, real_)}),
                    kNan, value, kFloat);
    parts.push_back(value);
    if (column.missing == Missing::own) parts.push_back(graph_.cast(missing, kFloat));
  }

  OnnxName scaled_number(const ColumnCode& code, const OnnxName& value) {
    if (code.column.scale == ColumnScale::none) return as_float(value, real_);
    return affine(value, real_, code.shift(), code.divisor());
  }

  // (x - shift) / divisor, computed in double and rounded once.
  OnnxName affine(const OnnxName& x, OnnxType type, double shift, double divisor) {
    const auto wide = type == kDouble ? x : graph_.cast(x, kDouble);
    const auto moved = graph_.add("Sub", {wide, number(shift, kDouble)});
    return graph_.cast(graph_.add("Div", {moved, number(divisor, kDouble)}), kFloat);
  }

  OnnxName category(const ColumnCode& code, const OnnxName& input) {
    std::vector<std::string> texts;
    std::vector<std::int64_t> features, places;
    for (const auto& [text, feature] : code.texts) {
      texts.push_back(text);
      features.push_back(feature);
    }
    for (std::size_t i = 0; i < code.width; ++i) places.push_back(static_cast<std::int64_t>(i));
    const auto place = graph_.add(
        "LabelEncoder", {input},
        {OnnxGraph::texts("keys_strings", texts), OnnxGraph::integers("values_int64s", features),
         OnnxGraph::integer("default_int64", code.otherwise)},
        "ai.onnx.ml");
    const auto hot = graph_.add("Equal", {place, graph_.constant(places, {1, code.width})});
    const std::int64_t zero[] = {0};
    const auto refused = graph_.add("Less", {place, graph_.constant(zero, {1, 1})});
    return where(refused, kNan, graph_.cast(hot, kFloat), kFloat);
  }

  // What FeatureScaling::apply does; the column of ones is in the biases.
  OnnxName scaled(const OnnxName& features) {
    const auto& scaling = card_.scaling;
    switch (scaling.kind) {
      case FeatureScale::none:
        return features;
      case FeatureScale::standard:
        return affine(features, kFloat, scaling.mean, scaling.deviation);
      case FeatureScale::spectral: {
        const auto factor = number(1 / scaling.factor, kDouble);
        return graph_.cast(graph_.add("Mul", {graph_.cast(features, kDouble), factor}), kFloat);
      }
      case FeatureScale::unit:
        return unit_rows(features);
    }
    return features;
  }

  OnnxName unit_rows(const OnnxName& features) {
    const auto wide = graph_.cast(features, kDouble);
    const std::int64_t axes[] = {1};
    const auto squares = graph_.add("ReduceSum", {graph_.add("Mul", {wide, wide}),  //
                                                  graph_.constant(axes, {1})});
    const auto is_zero = graph_.add("Equal", {squares, number(0, kDouble)});
    const auto norm = graph_.add("Sqrt", {where(is_zero, 1, squares, kDouble)});
    return graph_.cast(graph_.add("Div", {wide, norm}), kFloat);
  }

  OnnxName layers(OnnxName values) {
    for (std::size_t l = 0; l < flat_.layers.size(); ++l) {
      if (l > 0) values = activation(values);
      const auto& layer = flat_.layers[l];
      values =
          graph_.add("Gemm",
                     {values, graph_.constant(layer.weights, {layer.outputs, layer.inputs}, real_),
                      graph_.constant(layer.biases, {layer.outputs}, real_)},
                     {OnnxGraph::integer("transB", 1)});
    }
    return values;
  }

  OnnxName activation(const OnnxName& values) {
    const auto& [kind, scale, rate, offset] = flat_.activation;
    if (kind == ActivationKind::tempered) {
      const auto faster = graph_.add("Mul", {values, number(rate, real_)});
      const auto wider = graph_.add("Mul", {graph_.add("Sigmoid", {faster}), number(scale, real_)});
      return graph_.add("Sub", {wider, number(offset, real_)});
    }
    return graph_.add(kind == ActivationKind::sigmoid ? "Sigmoid"
                      : kind == ActivationKind::tanh  ? "Tanh"
                                                      : "Relu",
                      {values});
  }

  OnnxName targets_row(const std::vector<double>& numbers) {
    return graph_.constant(numbers, {1, numbers.size()}, real_);
  }

  void add_values(const OnnxName& scores) {
    const auto spread = graph_.add("Mul", {scores, targets_row(flat_.target_deviations)});
    const auto values = graph_.add("Add", {spread, targets_row(flat_.target_means)});
    graph_.output(where(refused_, kNan, values, real_), "value", real_, card_.outputs);
  }

  void add_classes(const OnnxName& scores) {
    const bool one = flat_.answer == Answer::one_score;
    const auto best =
        one ? graph_.cast(graph_.add("Greater", {scores, number(0, real_)}), OnnxType::int64)
            : graph_.add("ArgMax", {scores}, {OnnxGraph::integer("axis", 1)});
    auto names = card_.classes;
    names.emplace_back();  // of a record that is refused
    const std::int64_t nobody[] = {static_cast<std::int64_t>(card_.classes.size())};
    const std::int64_t flat_shape[] = {-1};
    const auto place = graph_.add("Where", {refused_, graph_.constant(nobody, {1, 1}), best});
    const auto places = graph_.add("Reshape", {place, graph_.constant(flat_shape, {1})});
    graph_.output(graph_.add("Gather", {graph_.constant(names), places}), "label", OnnxType::text,
                  0);
    const auto shares =
        one ? two_shares(scores) : graph_.add("Softmax", {scores}, {OnnxGraph::integer("axis", 1)});
    graph_.output(where(refused_, kNan, shares, real_), "probabilities", real_,
                  card_.classes.size());
  }

  OnnxName two_shares(const OnnxName& score) {
    const auto second = graph_.add("Sigmoid", {score});
    const auto first = graph_.add("Sub", {number(1, real_), second});
    return graph_.add("Concat", {first, second}, {OnnxGraph::integer("axis", 1)});
  }

  const ModelCard& card_;
  const FlatModel& flat_;
  OnnxType real_;
  OnnxGraph graph_;
  OnnxName refused_;  // [N, 1]
};

void require_expressible(const SavedModel& saved, const FlatModel& flat, bool wide) {
  std::size_t parameters = 0;
  double largest = 0;
  const auto measure = [&](const std::vector<double>& values) {
    for (const double value : values) largest = std::max(largest, std::abs(value));
  };
  measure(flat.target_means);
  measure(flat.target_deviations);
  for (const auto& layer : flat.layers) {
    parameters += layer.weights.size() + layer.biases.size();
    measure(layer.weights);
    measure(layer.biases);
  }
  require(wide || largest <= kLargest, ErrorKind::usage, saved.source, ": a parameter of ", largest,
          " does not fit float32; use --double");
  require(parameters <= kMaxOnnxBytes / (wide ? 8 : 4), ErrorKind::usage, saved.source, ": ",
          parameters, " parameters do not fit an ONNX file, which holds less than 2 GiB; ",
          wide ? "leave out --double" : "use the parameters in model.npz as they are");
}

}  // namespace

std::string to_onnx(const SavedModel& saved, const FlatModel& flat, bool wide) {
  require_expressible(saved, flat, wide);
  return OnnxExport(saved.card, flat, wide).model();
}

}  // namespace porter
