// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace porter {

/// Theorem 1 of the paper, for b = 1: sigma_p = tau sqrt(T log(1/delta)) / (m epsilon).
double paper_sigma(double clip, double rounds, double delta, double records, double epsilon);

/// phi_m = sqrt(d log(1/delta)) / (m epsilon): the order of the paper's utility.
double paper_phi(double dim, double delta, double records, double epsilon);

/// Whether a mechanism may publish one of m records in full and still keep this delta: from 1/m on.
bool allows_publishing(double delta, double records);
/// That in words, or that above 1/(10 m) it is a weak promise; empty where all is well.
std::string delta_concern(double delta, double records);

}  // namespace porter
