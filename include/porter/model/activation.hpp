// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "porter/core/choice.hpp"

namespace porter {

enum class ActivationKind { sigmoid, tanh, relu, tempered };
template <>
struct Choices<ActivationKind> {
  static constexpr Choice<ActivationKind> table[] = {{"sigmoid", ActivationKind::sigmoid},
                                                     {"tanh", ActivationKind::tanh},
                                                     {"relu", ActivationKind::relu},
                                                     {"tempered", ActivationKind::tempered}};
};

/// What a unit makes of its sum t. A tempered sigmoid is  scale * sigmoid(rate * t) - offset
/// (Papernot, Thakurta, Song, Chien, Erlingsson: Tempered Sigmoid Activations for Deep Learning
/// with Differential Privacy, 2021, where the rate is the inverse temperature T).
struct Activation {
  ActivationKind kind;
  double scale = 1, rate = 1, offset = 0;  ///< of a tempered sigmoid

  constexpr Activation(ActivationKind of = ActivationKind::sigmoid) : kind(of) {}
  bool operator==(const Activation&) const = default;
};

/// Error{usage} unless scale and rate are from 0.001 to 1000 and the offset from 0 to the scale:
/// all that is computed with them is then far from the limits of float, and its slope, which comes
/// from its value, loses no more than a few roundings beside the offset.
Activation tempered_sigmoid(double scale, double rate, double offset);

/// "sigmoid", "tanh", "relu" or "tempered:SCALE:RATE:OFFSET"; Error{usage}.
Activation parse_activation(std::string_view text);
std::string to_string(const Activation& activation);

}  // namespace porter
