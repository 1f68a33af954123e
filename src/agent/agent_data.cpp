// SPDX-License-Identifier: Apache-2.0
#include "agent_data.hpp"

#include <numeric>

#include "config/config_keys.hpp"
#include "porter/core/error.hpp"
#include "train/run_data.hpp"
#include "train/run_folder.hpp"

namespace porter {

Config recorded_config(const AgentOptions& options) {
  auto config = options.config;
  if (options.train.empty()) return config;
  auto& data = config.data;
  for (auto* file :
       {&data.test, &data.train_images, &data.train_labels, &data.test_images, &data.test_labels})
    file->clear();
  data.train = options.train;
  return config;
}

void check_own_data(const AgentOptions& options) {
  const auto& config = options.config;
  if (options.train.empty()) return;
  require(!config.data.measures_scale(), ErrorKind::privacy, "data.scale = \"",
          choice_text(config.data.scale),
          "\" is measured on the agent's data and would show through the model; use none, unit, or "
          "standard with data.moments");
  require(!config.data.plants_outliers(), ErrorKind::usage, "data.outliers = \"",
          config.data.outliers,
          "\" is for experiments; an agent trains on its own rows as they are");
  require(
      !config.data.holds_out(), ErrorKind::usage,
      "data.holdout and data.fold are for experiments; an agent trains on all rows of its file, "
      "so leave out of it what is to be a test set");
}

RunData own_data(const AgentOptions& options) {
  const auto& config = options.config;
  check_own_data(options);
  if (options.train.empty()) {
    const auto all = load_run_data(config);
    const auto each = all.train->rows() / config.network.agents;
    // Agents that count the same draw from what was dealt to them, without places of nobody.
    const bool own = config.weigh == CountedAlike::agents && !all.sizes.empty();
    std::vector<std::uint32_t> rows(own ? all.sizes[options.index] : each);
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(options.index * each));
    return {std::make_shared<const Dataset>(select_rows(*all.train, rows)),
            nullptr,
            all.source,
            all.warning,
            all.scaling,
            options.index};
  }
  auto data = data_options(recorded_config(options));
  data.cache = false;
  auto pair = load_data(data);
  return {std::make_shared<const Dataset>(std::move(pair.train)),
          nullptr,
          std::move(pair.source),
          std::move(pair.warning),
          pair.scaling,
          options.index};
}

AgentOptions with_steps(AgentOptions options, Sources sources) {
  const auto& algorithm = options.config.algorithm;
  if (algorithm.step > 0 && algorithm.consensus > 0) return options;
  if (!sources.data) sources.data = own_data(options);
  sources.data->holder = options.index;
  options.config = assemble(options.config, std::move(sources)).config;
  return options;
}

FileOwner owner_of(const AgentOptions& options) { return {run_id(options.config), options.index}; }

}  // namespace porter
