// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "porter/algo/gradients.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/rows.hpp"
#include "porter/core/thread_pool.hpp"

namespace porter {

class Exchange;

/// Bytes since the start, over all agents, and what they took.
struct Traffic {
  std::uint64_t message_bytes =
      0;                         ///< what agents sent, a message to several neighbours counted once
  std::uint64_t link_bytes = 0;  ///< what crossed links: every copy, and what a server sends back

  double seconds = 0;  ///< as Network::pace has them; 0 where there is none

  /// One message that goes to `receivers`.
  void add(std::uint64_t bytes, std::size_t receivers) {
    message_bytes += bytes;
    link_bytes += bytes * receivers;
  }
};

/// One optimisation method over all agents. Stopping, metrics and files live in train/.
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
  /// What neighbours hold of the agents' gradient trackers, a row each, for whoever listens; null
  /// where there are none, or not in double.
  virtual const Rows* published_trackers() const { return nullptr; }
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

/// What the gossip steps of a round do in a sweep.
enum class Acceleration {
  none,       ///< each goes on to the next coordinates
  chebyshev,  ///< all mix the same ones, by the Chebyshev polynomial of W for that many steps
};
template <>
struct Choices<Acceleration> {
  static constexpr Choice<Acceleration> table[] = {{"none", Acceleration::none},
                                                   {"chebyshev", Acceleration::chebyshev}};
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

/// What an algorithm is built from. The references outlive it.
struct AlgorithmSetup {
  Problem problem;
  const Network* network = nullptr;  ///< of a method whose agents talk to neighbours
  const Compressor& compressor;
  ThreadPool& pool;
  std::vector<double> start;      ///< x0, the same at all agents
  double eta = 0.01;              ///< step size
  double gamma = 1;               ///< consensus step size
  std::uint32_t gossip = 1;       ///< gossip steps per gradient
  std::uint32_t local_steps = 1;  ///< gradients per message
  std::uint32_t rounds = 0;       ///< of the run; 0: not known
  bool gathers = false;           ///< AlgorithmInfo::gathers of the method, for public_bounds
  double trigger = 1;             ///< c of sparq-sgd: an agent sends where |X - Q|^2 > c eta^2
  Mask mask = Mask::own;
  Acceleration acceleration = Acceleration::none;
  std::vector<std::uint32_t> dense = {};  ///< ascending: what travels in every message of a sweep
  Precision precision = Precision::wide;
  GradientOptions gradients;
  /// Null: all agents are in this process. Else only the hosted ones are computed, and messages of
  /// the others come through it; matrices still have a row for every agent.
  Exchange* exchange = nullptr;

  struct Soteriafl {
    double shift = 1;     ///< gamma_s; 0: no shifts
    double snapshot = 1;  ///< soteriafl-svrg: how probable a new snapshot is in a round
  } soteriafl = {};

  /// The agents to compute, ascending.
  std::vector<std::uint32_t> hosted() const;
  /// Error{usage} where there is no network.
  const Network& neighbours() const;
};

/// What a config may ask of an algorithm; rows of the table that the config, --help and the docs
/// walk.
struct AlgorithmInfo {
  enum class Clipping {
    none,    ///< never
    sample,  ///< of every sample
    batch,   ///< of the mean of a batch
    any,     ///< as configured
  };
  enum class Noise { never, optional, always };
  enum class Meeting {
    neighbours,  ///< agents talk along the edges of the graph
    server,      ///< agents talk to a server that they need not trust with their data
    aggregator,  ///< agents trust a secure aggregation to add noise once, for all of them
    pooled,      ///< all data in one place
    none,        ///< every agent alone
  };
  std::string name;
  std::string help;
  Clipping clipping = Clipping::any;
  Noise noise = Noise::optional;
  bool compresses = false;  ///< false: dense messages
  Meeting meeting = Meeting::neighbours;
  std::unique_ptr<Algorithm> (*make)(const AlgorithmSetup&);
  double momentum = 1;            ///< where a config does not say
  double consensus = 0.02;        ///< the same
  std::uint32_t local_steps = 0;  ///< the same, of a method that may have several; 0: one, always
  bool shifts = false;            ///< learns shifts of its messages (algorithm.shift)
  bool two_gradients = false;     ///< a release has two terms of a sample (algorithm.snapshot)
  bool several_points = false;    ///< a sample's term has gradients at more points than X
  bool gathers = false;           ///< it tracks M <- (1 - beta) M + G, not beta G
  bool triggers = false;          ///< sends where there is enough to tell (algorithm.trigger)
  bool needs_unbiased = false;    ///< of its compressor (algorithm.unbiased)
  bool gossips_once = false;      ///< one gossip step per gradient
  bool mask_is_sweep = false;     ///< exact gossip on coordinates that all agents send together
  bool may_be_narrow = false;     ///< its state may be float
  /// The first message of a round depends on the rounds before only, and leaves before the round's
  /// gradient is there.
  bool sends_first = false;
  /// The least that the weights of a network that changes must keep (network.schedule,
  /// network.dropout), and who makes them; nothing: copies of others' states, or corrections,
  /// belong to one network that stays.
  std::optional<Balance> changing = std::nullopt;
  Weighing weighing = Weighing::receivers;

  bool gossips() const { return meeting == Meeting::neighbours; }
};
const std::vector<AlgorithmInfo>& algorithm_table();
/// Error{usage} listing the known names.
const AlgorithmInfo& find_algorithm(std::string_view name);
inline std::unique_ptr<Algorithm> make_algorithm(std::string_view name,
                                                 const AlgorithmSetup& setup) {
  return find_algorithm(name).make(setup);
}

}  // namespace porter
