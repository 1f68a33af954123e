// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "porter/graph/absences.hpp"
#include "porter/graph/graph.hpp"
#include "porter/graph/mixing.hpp"

namespace porter {

/// Who meets whom in a gossip step.
struct Meetings {
  enum class Kind {
    fixed,     ///< "static": neighbours of the graph, weighed by W
    one_peer,  ///< "one-peer": agent i sends to i + 2^k (mod n), k = 0, 1, ... step by step
    matching,  ///< "matching": pairs of neighbours, drawn anew, who meet in the middle
    epidemic,  ///< "epidemic:K": every agent sends to K others, drawn anew
    directed,  ///< "directed-ring", "directed-exponential", "arcs:FILE": arcs that stay
  };
  Kind kind = Kind::fixed;
  std::uint32_t peers = 0;    ///< K of an epidemic
  std::string directed = {};  ///< the spec of a directed graph, as make_arcs takes it
};
/// Error{usage} naming the known ones.
Meetings parse_meetings(std::string_view spec);

/// From whom to whom.
using Arc = std::pair<std::uint32_t, std::uint32_t>;
/// The arcs of a directed graph, ascending: "directed-ring" (i to i + 1), "directed-exponential" (i
/// to i + 1, 2, 4, ... modulo n) or "arcs:FILE", a text with one arc 'SENDER RECEIVER' per line.
/// Error{usage} on a loop, an arc that is given twice, or where some agent cannot reach another.
std::vector<Arc> make_arcs(std::string_view spec, std::size_t nodes);

/// Name, a valid spec, and one line of help for each kind, in table order.
using MeetingsInfo = GraphInfo;
std::vector<MeetingsInfo> meetings_table();

/// What all W_t of a network keep.
enum class Balance {
  subgraph,   ///< W but for the edges of absent agents: symmetric, doubly stochastic
  doubly,     ///< rows and columns have the sum 1
  one_sided,  ///< rows or columns have, as the method wants it
};
Balance balance_of(const Meetings& meetings, bool absences);

/// Where arcs alone say who sends to whom, who makes the weights.
enum class Weighing {
  receivers,  ///< 1 / (1 + messages received): an average of what is there
  senders,    ///< 1 / (1 + messages sent): nothing is lost, as push-sum needs it
};

/// The weights of one gossip step.
struct StepWeights {
  /// Row i of (W_t - I)^T, ascending; empty where nothing moves agent i.
  std::vector<std::vector<MixingWeight>> incoming;
  std::vector<std::size_t> receivers;  ///< per agent: how many its message goes to
};

/// A network whose agents come and go, or meet others in every gossip step: a function of the step,
/// the same for everybody who has the public seed. Nothing here depends on data.
///
/// Meetings fixed and matching give a symmetric and doubly stochastic W_t, whoever is absent. For
/// let w_e >= 0 be the weight of an edge e = (i, j) and a_e = e_i - e_j; W = I - sum_e w_e a_e
/// a_e^T. An edge with an absent end is left out, that is, both ends put its weight on themselves:
///
///   W_t = I - sum over e in E_t of  w_e a_e a_e^T
///
/// which is symmetric, and W_t 1 = 1 as a_e^T 1 = 0. The sum is between 0 and I - W in the order of
/// symmetric matrices, so the eigenvalues of W_t are at most 1 and at least the lowest of W: no
/// step drives agents apart. (Weights below 0 are refused: where only these remained, one would.)
///
/// one_peer is a permutation and the identity, half each: doubly stochastic, and for n = 2^k every
/// log2(n) steps in a row are the exact average. With absences, in an epidemic and on a directed
/// graph sums of one side only can be 1, those that `weighing` says.
class ChangingNetwork {
 public:
  struct Options {
    Meetings meetings = {};
    Absences absences = {};
    Weighing weighing = Weighing::receivers;
    std::uint64_t seed = 1;
    std::uint32_t gossip = 1;  ///< steps per round; agents are absent for whole rounds
  };
  /// Error{usage} if an epidemic has more peers than there are others, if make_arcs throws, or
  /// where `fixed` meetings with absences have a W that is not symmetric or has negative weights.
  ChangingNetwork(const Graph& graph, const MixingMatrix& weights, Options options);

  /// Who takes part in round 1, 2, ..., ascending.
  std::vector<std::uint32_t> present(std::uint32_t round) const;
  /// The weights of gossip step 1, 2, ..., counted through all rounds.
  StepWeights weights(std::uint32_t step) const;
  const Options& options() const { return options_; }

 private:
  std::vector<bool> presence(std::uint32_t round) const;
  StepWeights fixed_weights(const std::vector<bool>& here) const;
  StepWeights arc_weights(std::vector<Arc> arcs) const;
  std::vector<Arc> one_peer(std::uint32_t step) const;
  std::vector<Arc> matching(std::uint32_t step, const std::vector<bool>& here) const;
  std::vector<Arc> epidemic(std::uint32_t step) const;

  std::size_t nodes_;
  std::vector<Graph::Edge> edges_;
  MixingMatrix mixing_;
  Options options_;
  std::vector<Arc> arcs_;  // of a directed graph
};

}  // namespace porter
