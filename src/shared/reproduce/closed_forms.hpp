// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "porter/privacy/accountant.hpp"
#include "reproduce/report.hpp"

namespace porter {

/// Figure 1: the norm of a vector before and after both clipping operators.
StudyReport clipping_report();

/// What the orders of Table 1 are evaluated for; the defaults are the paper's a9a problem.
struct OrdersRequest {
  double records = 3256;  ///< m, of each agent
  double agents = 10;     ///< n
  double dim = 124;       ///< d
  double epsilon = 0.1, delta = 1e-3;
  double alpha = 0.25;           ///< mixing rate in [0, 1)
  double rho = 6.0 / 124;        ///< contraction in (0, 1]
  double omega = 124.0 / 6 - 1;  ///< variance of the unbiased compressor, >= 0
};

/// A row of Table 1.
struct UtilityOrder {
  std::string algorithm, privacy, compression;
  bool bounded_gradient = true;  ///< whether the proof assumes it
  std::string utility_formula, communication_formula;
  double utility = 0;
  std::optional<double> communication = {};
};
/// The rows for these values. Orders without constants. Error{usage} names what is out of range.
std::vector<UtilityOrder> utility_orders(const OrdersRequest& request);
/// Table 1 with formulas and values.
StudyReport orders_report(const OrdersRequest& request);

/// One of the paper's 16 settings: the noise of its formula with tau = b = 1 and delta = 1e-3, and
/// what that noise is worth.
struct PaperClaim {
  const char* data;
  std::size_t records;
  double claimed;
  std::uint64_t rounds;
  double sigma;  ///< sqrt(T log(1/delta)) / (m claimed), equation (7)
  EpsilonInterval epsilon;

  /// Whether an attack shows that the claim does not hold.
  bool broken() const { return epsilon.lower > claimed; }
};
inline constexpr double kPaperDelta = 1e-3;
inline constexpr std::uint64_t kPaperRounds[] = {1000, 10'000, 100'000, 1'000'000};
/// By data set and claim, then by rounds.
std::vector<PaperClaim> paper_claims();
/// True epsilons beside the claims.
StudyReport privacy_report();

}  // namespace porter
