// SPDX-License-Identifier: Apache-2.0
#include "train/run_data.hpp"

#include <new>

#include "core/text.hpp"
#include "porter/core/error.hpp"
#include "porter/data/load.hpp"

namespace porter {
namespace {

std::shared_ptr<const Dataset> deal(const Dataset& train, const Config& config) {
  const std::size_t agents = config.network.agents;
  return std::make_shared<const Dataset>(
      dealt_rows(train, agents, partition_rows(train, agents, config.split, config.run.seed)));
}

std::vector<std::size_t> sizes_of(const Dataset& train, const Config& config) {
  return dealt_sizes(train.rows(), config.network.agents, config.split, config.run.seed);
}

// All that load_data looks at.
std::string key_of(const DataOptions& data) {
  std::string key;
  for (const auto* text :
       {&data.name, &data.train, &data.test, &data.train_images, &data.train_labels,
        &data.test_images, &data.test_labels, &data.outliers})
    key += *text + '\n';
  for (const double label : data.classes) key += shortest(label) + ' ';
  if (data.moments)
    key += concat(shortest(data.moments->mean), ' ', shortest(data.moments->deviation), '\n');
  if (data.schema) key += to_toml(*data.schema) + '\n';
  return key + concat(choice_text(data.transform), ' ', to_string(data.image), ' ', data.images,
                      ' ', choice_text(data.scale), ' ', data.features, ' ', data.bias, ' ',
                      data.regression, ' ', data.guarantee, ' ', shortest(data.holdout), ' ',
                      to_string(data.fold), ' ', data.test_instead, ' ', data.without_test, ' ',
                      data.scale == FeatureScale::spectral ? data.agents : 1);
}

}  // namespace

DataOptions data_options(const Config& config) {
  auto options = config.data;
  options.guarantee = claims_guarantee(config);
  if (!config.split.is_unequal()) options.agents = config.network.agents;  // those leave none over
  return options;
}

RunData deal_data(DataPair pair, const Config& config) {
  auto train = deal(pair.train, config);
  auto sizes = sizes_of(pair.train, config);
  std::shared_ptr<const Dataset> test;
  if (pair.test) test = std::make_shared<const Dataset>(std::move(*pair.test));
  return {.train = std::move(train),
          .test = std::move(test),
          .source = std::move(pair.source),
          .warning = std::move(pair.warning),
          .scaling = pair.scaling,
          .sizes = std::move(sizes)};
}

RunData load_run_data(const Config& config, const LoadProgress& reading) try {
  return deal_data(load_data(data_options(config), reading), config);
} catch (const std::bad_alloc&) {
  fail(ErrorKind::io, "data: out of memory while reading ",
       config.data.train.empty() ? config.data.name : config.data.train);
}

std::shared_ptr<const DataPair> RunDataCache::load(const DataOptions& options,
                                                   const std::string& key,
                                                   const LoadProgress& reading) {
  auto& known = loaded_[key];
  auto pair = known.lock();
  if (!pair) known = pair = std::make_shared<const DataPair>(load_data(options, reading));
  (options.fold ? last_fold_ : kept_[key]) = pair;
  return pair;
}

RunData RunDataCache::get(const Config& config, const LoadProgress& reading) {
  const std::lock_guard lock(mutex_);
  const auto options = data_options(config);
  const auto key = key_of(options);
  const auto pair = load(options, key, reading);
  auto& slot = dealt_[concat(key, '\n', to_string(config.split), '\n', config.network.agents, ' ',
                             config.run.seed)];
  auto train = slot.lock();
  if (!train) slot = train = deal(pair->train, config);
  std::shared_ptr<const Dataset> test;
  if (pair->test) test = {pair, &*pair->test};
  return {.train = std::move(train),
          .test = std::move(test),
          .source = pair->source,
          .warning = pair->warning,
          .scaling = pair->scaling,
          .sizes = sizes_of(pair->train, config)};
}

}  // namespace porter
