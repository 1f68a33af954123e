// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace porter {

/// One block of Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as
/// 1, 2, 3; SC 2011): a bijection of the 128-bit counter for each 64-bit key.
std::array<std::uint32_t, 4> philox_block(std::array<std::uint32_t, 4> counter,
                                          std::array<std::uint32_t, 2> key);

/// What a stream is drawn for. Two draws in one round have two uses, or they would be the same
/// draw. The numbers are part of the format of a run: append, never renumber.
enum class Draw : std::uint32_t {
  start = 0,       ///< the common starting point x0
  graph = 1,       ///< a random topology
  split = 2,       ///< which agent holds which sample
  batch = 3,       ///< which local samples a round uses
  noise = 4,       ///< the simulated Gaussian perturbation
  compress_v = 5,  ///< the compressor of the gradient trackers
  compress_x = 6,  ///< the compressor of the iterates
  output = 7,      ///< the paper's random x_out
  data = 8,        ///< the built-in data sets
  test = 9,        ///< inputs of tests and benchmarks
  snapshot = 10,   ///< the coin of soteriafl-svrg
  mask = 11,       ///< the coordinates that all agents send
  sweep = 12,      ///< the settings of a random search
  holdout = 13,    ///< which rows become the test set
  measure = 14,    ///< the seeds of runs that measure what a schema leaves open
  pair = 15,       ///< the simulated noise that two agents share
  augment = 16,    ///< how copies of images are moved
  absence = 20,    ///< whether an agent is absent in a round
  meeting = 21,    ///< who meets whom in a gossip step
  compute = 22,    ///< how long an agent takes for a gradient
};

/// The words of blocks first_block, first_block + 1, ... of a stream, as next_u32() gives them one
/// by one, but in vectors; the last block may be cut.
void philox_words(std::uint64_t seed, Draw use, std::uint32_t agent, std::uint32_t round,
                  std::uint32_t first_block, std::span<std::uint32_t> out);

/// A stream of random numbers addressed by (seed, use, agent, round): the key is the seed and the
/// counter is (block, round, agent, use). A value: copying it replays it, nobody owns a generator
/// between rounds, and neither the order of agents nor the number of threads matters.
/// A stream holds 2^31 blocks of 128 bits; the counters with the top bit set refine rare normals.
class RngStream {
 public:
  RngStream(std::uint64_t seed, Draw use, std::uint32_t agent, std::uint32_t round);

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  /// The next words, as next_u32 gives them one by one.
  void fill_words(std::span<std::uint32_t> out);
  /// Uniform on [0, 1), 53 random bits.
  double uniform();
  /// Uniform on {0, ..., bound - 1} by rejection; bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Standard normal; the same sequence as fill_normal gives from a block boundary.
  double normal();
  /// Writes independent standard normals. Starts at the next whole block.
  void fill_normal(std::span<double> out);

 private:
  void refill();
  std::array<double, 2> normal_pair();

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;               // words of block_ already handed out
  double spare_normal_ = 0.0;  // the second of a pair
  bool has_spare_ = false;
};

}  // namespace porter
