// SPDX-License-Identifier: Apache-2.0
#include "privacy/paper.hpp"

#include <cmath>

#include "porter/core/error.hpp"

namespace porter {

double paper_sigma(double clip, double rounds, double delta, double records, double epsilon) {
  return clip * std::sqrt(rounds * std::log(1 / delta)) / (records * epsilon);
}

double paper_phi(double dim, double delta, double records, double epsilon) {
  return std::sqrt(dim * std::log(1 / delta)) / (records * epsilon);
}

bool allows_publishing(double delta, double records) { return delta >= 1 / records; }

std::string delta_concern(double delta, double records) {
  const double share = 1 / records;
  if (allows_publishing(delta, records))
    return concat("delta = ", delta, " is not below 1/m = ", share,
                  ": it would allow to publish a record in full");
  if (delta <= share / 10) return {};
  return concat("delta = ", delta, " is more than 1/(10 m) = ", share / 10, ": a weak promise");
}

}  // namespace porter
