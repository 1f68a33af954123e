// SPDX-License-Identifier: Apache-2.0
// The code of an exported header. Those with {} go through fmt, so that their braces are doubled.
#pragma once

namespace porter::cpp_parts {

inline constexpr const char* kBegin = R"(//
// C++17, nothing but the standard library. Features are rounded to float where porter does it, so
// that predictions are those of `porter predict` up to the last digits of a sum. What it refuses
// throws std::invalid_argument here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

)";

inline constexpr const char* kFeatures =
    R"(// What the model is computed from: feature_count numbers.
using Features = std::vector<float>;

)";

inline constexpr const char* kRecord =
    R"(// A record, with a member for each column. NaN is a missing number; a category is its text.
struct Record {{
{}}};

)";

inline constexpr const char* kEncoder = R"(enum class Rule { refuse, clamp, missing, own, fill };

struct Number {
  std::string_view name;
  std::size_t feature;
  bool bounded;
  double low, high;
  Rule outside;
  double shift, divisor;  // the feature is (x - shift) / divisor
  Rule missing;
  double fill;
};

struct Text {
  std::string_view text;
  int place;  // of its feature, -1: refused
};

struct Category {
  std::string_view name;
  std::size_t feature;
  const Text* texts;  // in ascending order
  std::size_t count;
  int otherwise;
};

[[noreturn]] inline void refuse(std::string_view column, const char* expected) {
  throw std::invalid_argument("column '" + std::string(column) + "': expected " + expected);
}

inline bool is_finite(double x) {
  return std::abs(x) <= static_cast<double>(std::numeric_limits<float>::max());
}

inline void encode(double x, const Number& column, Features& features) {
  bool missing = std::isnan(x);
  if (!missing && !is_finite(x)) refuse(column.name, "a finite number");
  if (!missing && column.bounded && (x < column.low || x > column.high)) {
    if (column.outside == Rule::refuse) refuse(column.name, "a number in range");
    missing = column.outside == Rule::missing;
    x = std::clamp(x, column.low, column.high);
  }
  if (missing && column.missing == Rule::refuse) refuse(column.name, "a value, found none");
  if (missing && column.missing == Rule::own) {
    features[column.feature + 1] = 1;
    return;
  }
  const double scaled = ((missing ? column.fill : x) - column.shift) / column.divisor;
  if (!is_finite(scaled)) refuse(column.name, "a finite number when scaled");
  features[column.feature] = static_cast<float>(scaled);
}

inline void encode(std::string_view text, const Category& column, Features& features) {
  const auto* end = column.texts + column.count;
  const auto* found = std::lower_bound(
      column.texts, end, text, [](const Text& a, std::string_view b) { return a.text < b; });
  const int place = found != end && found->text == text ? found->place : column.otherwise;
  if (place < 0) refuse(column.name, "a value that the schema knows");
  features[column.feature + static_cast<std::size_t>(place)] = 1;
}

)";

inline constexpr const char* kEncode = R"(inline Features encode(const Record& record) {{
  Features features(feature_count, 0.0F);
{}  return features;
}}

)";

inline constexpr const char* kLayer = R"(struct Layer {
  std::size_t inputs, outputs;
  const double* weights;
  const double* biases;
};

)";

inline constexpr const char* kStandard = R"(
inline void scale(Features& features) {{
  for (float& x : features) x = static_cast<float>((double{{x}} - {}) / {});
}}
)";
inline constexpr const char* kSpectral = R"(
inline void scale(Features& features) {{
  for (float& x : features) x = static_cast<float>(double{{x}} * {});
}}
)";
inline constexpr const char* kUnit = R"(
inline void scale(Features& features) {
  double squares = 0;
  for (const float x : features) squares += double{x} * double{x};
  const double norm = squares == 0 ? 1 : std::sqrt(squares);
  for (float& x : features) x = static_cast<float>(double{x} / norm);
}
)";

inline constexpr const char* kNetwork = R"(
inline double activation(double t) {{ return {}; }}

inline std::vector<double> scores(Features features) {{
  if (features.size() != feature_count)
    throw std::invalid_argument("expected " + std::to_string(feature_count) + " features, found " +
                                std::to_string(features.size()));
  for (const float x : features)
    if (!std::isfinite(x)) throw std::invalid_argument("expected features that are finite");
  scale(features);
  std::vector<double> values(features.begin(), features.end());
  for (const Layer& layer : layers) {{
    if (&layer != layers)
      for (double& t : values) t = activation(t);
    std::vector<double> next(layer.biases, layer.biases + layer.outputs);
    for (std::size_t o = 0; o < layer.outputs; ++o)
      for (std::size_t i = 0; i < layer.inputs; ++i)
        next[o] += layer.weights[o * layer.inputs + i] * values[i];
    values = std::move(next);
  }}
  return values;
}}
)";

inline constexpr const char* kOneScore = R"(// Of the classes, in their order.
inline std::vector<double> probabilities(const Features& features) {
  const double second = 1 / (1 + std::exp(-detail::scores(features)[0]));
  return {1 - second, second};
}

inline std::size_t predict_class(const Features& features) {
  return detail::scores(features)[0] > 0 ? 1 : 0;
}

)";
inline constexpr const char* kScores = R"(// Of the classes, in their order.
inline std::vector<double> probabilities(const Features& features) {
  auto p = detail::scores(features);
  const double top = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& s : p) sum += s = std::exp(s - top);
  for (double& s : p) s /= sum;
  return p;
}

inline std::size_t predict_class(const Features& features) {
  const auto s = detail::scores(features);
  return static_cast<std::size_t>(std::max_element(s.begin(), s.end()) - s.begin());
}

)";
inline constexpr const char* kClassNames = R"(// The name of the class.
inline std::string_view predict(const Features& features) {
  return class_names[predict_class(features)];
}
)";

inline constexpr const char* kNumbers = R"(namespace detail {{
inline constexpr double target_deviations[] = {};
inline constexpr double target_means[] = {};

inline std::vector<double> targets(const Features& features) {{
  auto values = scores(features);
  for (std::size_t o = 0; o < output_count; ++o)
    values[o] = values[o] * target_deviations[o] + target_means[o];
  return values;
}}
}}  // namespace detail

)";
inline constexpr const char* kOneNumber = R"(// In the units of the table.
inline double predict(const Features& features) { return detail::targets(features)[0]; }
)";
inline constexpr const char* kSeveralNumbers = R"(// In the units of the table.
inline std::vector<double> predict(const Features& features) { return detail::targets(features); }
)";

inline constexpr const char* kRecordClasses = R"(
inline std::vector<double> probabilities(const Record& record) {
  return probabilities(encode(record));
}
inline std::size_t predict_class(const Record& record) { return predict_class(encode(record)); }
inline std::string_view predict(const Record& record) { return predict(encode(record)); }
)";
inline constexpr const char* kRecordNumber = R"(
inline double predict(const Record& record) { return predict(encode(record)); }
)";
inline constexpr const char* kRecordNumbers = R"(
inline std::vector<double> predict(const Record& record) { return predict(encode(record)); }
)";

}  // namespace porter::cpp_parts
