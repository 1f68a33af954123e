// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "porter/algo/gradients.hpp"
#include "porter/algo/problem.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/rows.hpp"
#include "porter/core/thread_pool.hpp"

namespace porter {

class Exchange;

/// Bytes since the start, over all agents.
struct Traffic {
  std::uint64_t message_bytes =
      0;                         ///< what agents sent, a message to several neighbours counted once
  std::uint64_t link_bytes = 0;  ///< what crossed links: every copy, and what a server sends back

  /// One message that goes to `receivers`.
  void add(std::uint64_t bytes, std::size_t receivers) {
    message_bytes += bytes;
    link_bytes += bytes * receivers;
  }
};

/// One optimisation method over all agents. Stopping, metrics and files live in run/.
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  /// Round 1, 2, ... in this order.
  virtual void step(std::uint32_t round) = 0;
  /// Where the agents stand: one row each, or a single row that all share. Valid until the next
  /// step.
  virtual const Rows& iterates() const = 0;
  /// |mean V - mean G| where the method tracks the gradient.
  virtual std::optional<double> tracking_error() const { return std::nullopt; }
  virtual Traffic& traffic() = 0;
  /// All that, with the traffic, makes a resumed run continue bit for bit.
  virtual std::vector<NamedRows> state() = 0;
};

/// Whose random coordinates travel.
enum class Mask {
  own,     ///< every sender draws its own
  shared,  ///< all senders of a step send the same coordinates
  sweep,   ///< the same, and no coordinate waits longer than one sweep through all of them
};
template <>
struct Choices<Mask> {
  static constexpr Choice<Mask> table[] = {
      {"own", Mask::own}, {"shared", Mask::shared}, {"sweep", Mask::sweep}};
};

/// The numbers that an algorithm's state is kept in.
enum class Precision {
  wide,    ///< double
  narrow,  ///< float: half the memory, and a round that is bound by it is faster
};
template <>
struct Choices<Precision> {
  static constexpr Choice<Precision> table[] = {{"double", Precision::wide},
                                                {"float", Precision::narrow}};
};

/// Whether a round has so little work, n d b coordinates of gradients, that handing it to other
/// threads takes longer than doing it.
inline bool is_small_round(std::size_t agents, std::size_t dim, std::size_t batch) {
  return agents * dim * batch < 20'000;
}

/// What an algorithm is built from. The references outlive it.
struct AlgorithmSetup {
  Problem problem;
  const Network& network;
  const Compressor& compressor;
  ThreadPool& pool;
  std::vector<double> start;  ///< x0, the same at all agents
  double eta = 0.01;          ///< step size
  double gamma = 1;           ///< consensus step size
  double shift = 1;           ///< soteriafl's gamma_s
  double momentum = 1;        ///< beta of ddp-srm; elsewhere gradients.momentum
  double snapshot = 1;        ///< soteriafl-svrg: how probable a new snapshot is in a round
  std::uint32_t gossip = 1;   ///< gossip steps per gradient
  std::uint32_t rounds = 0;   ///< of the run; 0: not known
  Mask mask = Mask::own;
  Precision precision = Precision::wide;
  GradientOptions gradients;
  /// Null: all agents are in this process. Else only the hosted ones are computed, and messages of
  /// the others come through it; matrices still have a row for every agent.
  Exchange* exchange = nullptr;

  /// The agents to compute, ascending.
  std::vector<std::uint32_t> hosted() const;
};

std::unique_ptr<Algorithm> make_porter(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_porter_sweep(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_choco_sgd(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_ddp_srm(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_deepsqueeze(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_dsgd(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_dsgt(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_sgd(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_soteriafl_sgd(const AlgorithmSetup& setup);
std::unique_ptr<Algorithm> make_soteriafl_svrg(const AlgorithmSetup& setup);

/// What a config may ask of an algorithm; rows of the table that the config, --help and the docs
/// walk.
struct AlgorithmInfo {
  enum class Clipping {
    none,
    sample,
    batch,
    free
  };  ///< never | per sample | per batch | as configured
  enum class Noise { never, optional, always };
  enum class Meeting {
    neighbours,  ///< agents talk along the edges of the graph
    server,      ///< agents talk to a server that they need not trust with their data
    aggregator,  ///< agents trust a secure aggregation to add noise once, for all of them
    pooled,      ///< all data in one place
    nobody,      ///< every agent alone
  };
  std::string name;
  std::string help;
  Clipping clipping;
  Noise noise;
  bool compresses;  ///< false: dense messages
  Meeting meeting;
  std::unique_ptr<Algorithm> (*make)(const AlgorithmSetup&);
  bool shifts = false;         ///< learns shifts of its messages (algorithm.shift)
  bool two_gradients = false;  ///< a release holds gradients at two points (algorithm.snapshot)
  bool own_momentum = false;   ///< momentum is part of its step, not of the gradients
  bool gossips_once = false;   ///< one gossip step per gradient
  bool mask_is_sweep = false;  ///< exact gossip on coordinates that all agents send together
  bool may_be_narrow = false;  ///< its state may be float
  /// The first message of a round depends on the rounds before only, and leaves before the round's
  /// gradient is there.
  bool sends_first = false;

  bool gossips() const { return meeting == Meeting::neighbours; }
};
const std::vector<AlgorithmInfo>& algorithm_table();
/// Error{usage} listing the known names.
const AlgorithmInfo& find_algorithm(std::string_view name);

}  // namespace porter
