// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "porter/privacy/accountant.hpp"

namespace porter {

struct PlanCell;

/// A private run that is to be planned: what is given, before batch size and rounds are chosen.
struct PlanRequest {
  std::size_t records = 0;  ///< m, of each agent
  std::size_t agents = 0;   ///< n
  std::size_t dim = 0;      ///< d
  double alpha = 0;         ///< mixing rate in [0, 1)
  double rho = 1;           ///< contraction of the compressor in (0, 1]
  double epsilon = 0, delta = 0;
  double clip = 1;  ///< tau
  Sampler sampler = Sampler::fixed;
  Adjacency adjacency = Adjacency::replace;
  bool allow_large_delta = false;            ///< delta >= 1/m is an error otherwise
  std::optional<double> bytes_per_vector;    ///< payload of one compressed vector
  std::optional<std::size_t> batch;          ///< the recommendation keeps to it
  std::optional<std::uint64_t> rounds = {};  ///< the same

  bool allows(const PlanCell& cell) const;  ///< by `batch` and `rounds`
  /// What a cell releases; the noise multiplier is not set.
  PrivacyEvent event(std::size_t cell_batch, std::uint64_t cell_rounds) const;
  /// The cell of that event, with its noise multiplier.
  PlanCell cell(const PrivacyEvent& event, double noise_multiplier) const;
};

/// One choice of batch size and rounds, with the noise that keeps (epsilon, delta).
struct PlanCell {
  std::size_t batch = 0;
  std::uint64_t rounds = 0;
  double sigma = 0;  ///< certified; on the averaged gradient of one agent
  /// sqrt(d) sigma / (tau sqrt(n)): length of the noise in the average over the agents, against a
  /// gradient of the largest length that clipping leaves.
  double noise_to_signal = 0;
  double floor = 0;             ///< predicted_floor() of it
  std::optional<double> bytes;  ///< that an agent sends in all rounds, two vectors a round
};

/// Step sizes and bounds of the paper's theorems. They are orders: constants, and the smoothness L
/// where it appears, are left out, except for the 365 of Theorem 3.
struct TheoremOrders {
  double phi = 0;     ///< phi_m = sqrt(d log(1/delta)) / (m epsilon)
  double rounds = 0;  ///< T = phi_m^-2, Theorems 2 and 3
  double gamma = 0;   ///< (1 - alpha) rho
  double eta = 0;     ///< gamma^(4/3) rho^(4/3) phi_m, Theorem 2
  /// phi_m rho^(-4/3) (1 - alpha)^(-8/3), Theorem 2: the mean squared gradient norm over
  /// max(tau^2, L Delta). From 1 on it says nothing: gradients of length tau are assumed.
  double bound = 0;
  double clip = 0;  ///< 365 rho^(-4/3) (1 - alpha)^(-8/3) phi_m^(1/2), Theorem 3: the least tau
};
TheoremOrders theorem_orders(const PlanRequest& request);

/// A condition of the paper's theorems, and whether it holds.
struct SideCondition {
  std::string theorem, text;
  double left = 0, right = 0;  ///< the two sides of `text`
  bool holds = false;
};
/// The conditions for this batch size and number of rounds; the rounds need not be whole.
std::vector<SideCondition> side_conditions(const PlanRequest& request, std::size_t batch,
                                           double rounds);

struct Plan {
  std::vector<std::size_t> batches;   ///< ascending
  std::vector<std::uint64_t> rounds;  ///< ascending
  std::vector<PlanCell> cells;  ///< by batch, then by rounds; sigma at most 1 % above the least
  TheoremOrders orders;
  double gossip_rounds = 0;  ///< 1 / ((1 - alpha)^2 rho)
  PlanCell recommended;      ///< sigma to 1e-4 relative
  /// Why nothing good can come of it, a sentence each; empty when there is no such reason.
  std::vector<std::string> hopeless;
  std::vector<std::string> notes;  ///< what else must be known, a sentence each

  const PlanCell& cell(std::size_t batch_index, std::size_t rounds_index) const {
    return cells[batch_index * rounds.size() + rounds_index];
  }
};

/// In units of tau^2 and with L Delta = tau^2,  2 / T + 2 sqrt(2 s^2 / T),
/// s^2 = noise_to_signal^2 + (1 - b/m) / (n b).
///
/// It bounds the mean squared gradient norm of SGD with T steps of the best constant size, where
/// s^2 tau^2 is the variance of a step: 2 Delta / (eta T) + L eta s^2 tau^2 for eta <= 1/L (Ghadimi
/// and Lan, SIAM J. Optim. 2013, Corollary 2.2). The average iterate of PORTER-DP is such an SGD;
/// clipping bias and the errors of compression and gossip are left out. A heuristic.
double predicted_floor(const PlanRequest& request, std::size_t batch, std::uint64_t rounds,
                       double noise_to_signal);

/// The rule of the recommendation. Of the cells with at least `least_rounds`, or of those with the
/// most rounds if there is none: those whose floor is at most 25 % above the least, of these the
/// fewest rounds, then the smallest batch. Returns the index.
std::size_t recommended_index(const std::vector<PlanCell>& cells, double least_rounds);

/// Called from any thread, one call at a time.
using PlanProgress = std::function<void(std::size_t done, std::size_t total)>;

/// The plan. Error{usage} if a value is out of range. `threads` = 0: one per core.
Plan make_plan(const PlanRequest& request, const PlanProgress& progress = {},
               std::size_t threads = 0);

}  // namespace porter
