// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "porter/algo/algorithm.hpp"
#include "porter/io/npy.hpp"
#include "porter/train/metrics.hpp"

namespace porter {

/// How far a run is, beside the state of its method.
struct RunState {
  std::uint32_t round = 0;
  std::uint64_t releases = 0;  ///< noised gradients of each agent
  double training_seconds = 0, evaluation_seconds = 0;
  double utility_sum = 0;  ///< of grad_norm_sq over rounds 0 .. last evaluation
  std::optional<MetricsRow> previous = {}, best = {};
  std::vector<double> x_best = {}, x_out = {};  ///< empty where there is none yet
};

/// All that a run needs to go on bit for bit. As a file: an .npz whose members have the names of
/// the fields, counts as arrays of one number.
struct Checkpoint {
  /// Raised when a file that an older porter reads would mean something else.
  static constexpr std::uint32_t kVersion = 4;

  std::string run;  ///< run_id
  /// Where the run was extended: the ids that it had before, the oldest first.
  std::vector<std::string> earlier_runs = {};
  /// The round and the agent of x_out; round 0 in files that do not say.
  std::uint32_t output_round = 0, output_agent = 0;
  /// Whose rows a matrix holds that neighbours have copies of; empty: everybody's.
  std::vector<std::uint32_t> agents = {};
  RunState now = {};
  Traffic traffic = {};
  std::map<std::string, NpyArray> matrices = {};  ///< of the method, by name
};

/// One that is moved in gives its matrices away.
Npz to_npz(Checkpoint checkpoint);
/// From members that were read with ByteArrays::bytes. Naming `source`, Error{usage} if
/// they are of another version, Error{io} if one is missing or holds impossible numbers.
Checkpoint to_checkpoint(const Npz& members, const std::string& source);

void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
Checkpoint load_checkpoint(const std::filesystem::path& path);

/// One of all agents from one of each: every agent's own rows; counts are summed up, or the
/// largest. `sources` are what errors call them.
Checkpoint merge_checkpoints(const std::vector<Checkpoint>& parts,
                             const std::vector<std::string>& sources);

}  // namespace porter
