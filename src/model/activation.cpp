// SPDX-License-Identifier: Apache-2.0
#include "porter/model/activation.hpp"

#include "core/text.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr double kLeast = 0.001, kMost = 1000;
constexpr std::string_view kExpected =
    "expected tempered:S:T:O with S and T from 0.001 to 1000 and O from 0 to S, such as "
    "tempered:1.58:3:0.71";

bool is_tempered(double scale, double rate, double offset) {
  const auto is_positive = [](double value) { return value >= kLeast && value <= kMost; };
  return is_positive(scale) && is_positive(rate) && offset >= 0 && offset <= scale;
}

}  // namespace

Activation tempered_sigmoid(double scale, double rate, double offset) {
  require(is_tempered(scale, rate, offset), ErrorKind::usage, kExpected, "; found ", scale, ", ",
          rate, " and ", offset);
  Activation activation(ActivationKind::tempered);
  activation.scale = scale;
  activation.rate = rate;
  activation.offset = offset;
  return activation;
}

Activation parse_activation(std::string_view text) {
  const auto spec = split_spec(text);
  if (spec.name != choice_text(ActivationKind::tempered)) {
    const auto kind = find_choice<ActivationKind>(text);
    require(kind.has_value(), ErrorKind::usage,
            "expected sigmoid, tanh, relu or tempered:S:T:O; found \"", text, "\"");
    return *kind;
  }
  const auto scale = split_spec(spec.argument.value_or("")),
             rate = split_spec(scale.argument.value_or(""));
  const auto s = parse_number<double>(scale.name), t = parse_number<double>(rate.name),
             o = rate.number<double>();
  require(s && t && o, ErrorKind::usage, kExpected, "; found \"", text, "\"");
  return tempered_sigmoid(*s, *t, *o);
}

std::string to_string(const Activation& activation) {
  std::string text(choice_text(activation.kind));
  if (activation.kind == ActivationKind::tempered)
    for (const double value : {activation.scale, activation.rate, activation.offset})
      text += ':' + shortest(value);
  return text;
}

}  // namespace porter
