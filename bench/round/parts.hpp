// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algo/gossip.hpp"
#include "porter/algo/gradients.hpp"
#include "setting.hpp"

namespace porter::bench {

/// A piece of work that is timed over and over.
struct Part {
  std::string name;
  double bytes = 0;  ///< the least that one run must read and write
};

/// The least a round must read and write: reads U, gap_v, X, gap_x and writes U, V, X (7 n d
/// values of its precision), the entries that travel, and what mixing takes: the entries again at
/// each receiver where gaps are stored, else the rows of both Q.
double round_bytes(const Setting& setting, Algorithm& algorithm);

/// The parts of a PORTER round in double on a setting, each callable alone, and the two limits that
/// rounds are held against: the noise kernel that writes nowhere, and a pass that streams the state
/// and computes next to nothing.
///
///   gradient   G = the clipped mean of the batch
///   noise      n d normals of the simulated noise, into a buffer of a few KB
///   compress   Q += C(S - Q) for V and X
///   mix        gap = (W - I)^T Q for both
///   update     U += gamma gap_v,  V = U + G,  X += gamma gap_x - eta V,  with G where V will be
///   stream     the same with G = 0: reads U, gap_v, X, gap_x and writes U, V, X
///   stream_1   on one thread
///   products   the matrix products of an MLP's forward and backward pass over the batches
class Parts {
 public:
  explicit Parts(Setting& setting);
  std::vector<Part> list() const;
  /// Error{usage} if there is no such part.
  void run(const std::string& name, std::uint32_t round);

 private:
  using Pass = void (*)(std::size_t, double, double, const double*, const double*, double*, double*,
                        double*);
  void noise(const Tile& tile, std::uint32_t round) const;
  void pass(Pass row, const Tile& tile);
  void products(std::size_t agent);

  Setting& setting_;
  AlgorithmSetup setup_;
  GradientEstimator gradients_;
  Team team_;
  Gossip<> gossip_;
  bool stores_gaps_;
  ThreadPool one_thread_{1};
  Rows X_, V_, U_, G_, gap_v_, gap_x_;
  std::vector<std::vector<double>> scratch_;  // of products, per agent
};

}  // namespace porter::bench
