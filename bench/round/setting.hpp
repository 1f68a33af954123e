// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "porter/algo/algorithm.hpp"
#include "porter/run/config.hpp"
#include "run/small_round.hpp"

namespace porter::bench {

/// What a config describes, up to the algorithm, as Experiment builds it; without the accountant,
/// which may take longer than what is timed.
class Setting {
 public:
  /// `overrides` are "section.key=value".
  Setting(const std::string& config_path, const std::vector<std::string>& overrides);
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  AlgorithmSetup algorithm();
  GradientOptions gradients() const;
  Problem problem() const { return {*model_, data_.train, config_.network.agents}; }

  const Config& config() const { return config_; }
  const Network& network() const { return *network_; }
  const Compressor& compressor() const { return *compressor_; }
  /// As a run would choose it.
  ThreadPool& pool() { return is_small_round(agents(), dim(), batch()) ? one_thread_ : pool_; }
  std::size_t agents() const { return config_.network.agents; }
  std::size_t dim() const { return model_->dim(); }
  std::size_t batch() const;
  std::size_t kept() const { return compressor_->kept(dim()).value_or(dim()); }

 private:
  Config config_;
  ThreadPool pool_, one_thread_{1};
  DataPair data_;
  std::unique_ptr<const Model> model_;
  std::unique_ptr<const Network> network_;
  std::unique_ptr<const Compressor> compressor_;
};

}  // namespace porter::bench
