// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "porter/train/assemble.hpp"
#include "train/run_size.hpp"

namespace porter::bench {

/// What a config describes, up to the algorithm. Its noise is stated, so no accountant is asked.
class Setting {
 public:
  /// `overrides` are "section.key=value".
  Setting(const std::string& config_path, const std::vector<std::string>& overrides);
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  AlgorithmSetup algorithm() { return algorithm_setup(parts_, pool()); }
  GradientOptions gradients() { return algorithm().gradients; }
  Problem problem() const { return parts_.problem(); }

  const Config& config() const { return parts_.config; }
  const Network& network() const { return *parts_.network; }
  const Compressor& compressor() const { return *parts_.compressor; }
  /// As a run would choose it.
  ThreadPool& pool() { return is_small_round(agents(), dim(), batch()) ? one_thread_ : pool_; }
  std::size_t agents() const { return parts_.facts.agents; }
  std::size_t dim() const { return parts_.facts.dim; }
  std::size_t batch() const { return parts_.facts.batch; }
  std::size_t kept() const { return parts_.facts.compression.kept.value_or(dim()); }

 private:
  RunParts parts_;
  ThreadPool pool_, one_thread_{1};
};

}  // namespace porter::bench
