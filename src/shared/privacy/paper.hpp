// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>

#include "core/exact_math.hpp"
#include "porter/core/error.hpp"

namespace porter {

/// Theorem 1 of the paper, for b = 1: sigma_p = tau sqrt(T log(1/delta)) / (m epsilon).
inline double paper_sigma(double clip, double rounds, double delta, double records,
                          double epsilon) {
  return clip * std::sqrt(rounds * exact_log(1 / delta)) / (records * epsilon);
}

/// phi_m = sqrt(d log(1/delta)) / (m epsilon): the order of the paper's utility.
inline double paper_phi(double dim, double delta, double records, double epsilon) {
  return std::sqrt(dim * exact_log(1 / delta)) / (records * epsilon);
}

/// Whether a mechanism may publish one of m records in full and still keep this delta: from 1/m on.
inline bool allows_publishing(double delta, double records) { return delta >= 1 / records; }

/// That in words, or that above 1/(10 m) it is a weak promise; empty where all is well.
inline std::string delta_concern(double delta, double records) {
  const double share = 1 / records;
  if (allows_publishing(delta, records))
    return concat("delta = ", delta, " is not below 1/m = ", share,
                  ": it would allow to publish a record in full");
  if (delta <= share / 10) return {};
  return concat("delta = ", delta, " is more than 1/(10 m) = ", share / 10, ": a weak promise");
}

}  // namespace porter
