// SPDX-License-Identifier: Apache-2.0
// Which data a sub-command of porter data looks at.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "command_line.hpp"
#include "porter/data/load.hpp"

namespace porter::cli {

struct DataArguments {
  DataOptions data{.bias = false};  // as they are, without scaling and bias
  bool json = false;
  std::vector<std::string> names;  // to fetch
  std::string into, split = "shuffled", html, fold;
  std::size_t agents = 10;
  std::uint64_t seed = 1;

  /// What `info` and `split` look at.
  void add_data_to(App& command);
  DataPair load() const;
};

/// Labels that are numbers stay numbers in JSON.
nlohmann::ordered_json class_labels(const Dataset& data);

/// porter data info.
void print_data_info(const DataArguments& options);

}  // namespace porter::cli
