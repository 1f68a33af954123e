// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "porter/train/assemble.hpp"

namespace porter {

/// What load_data is asked for: the config's section, and whether there is a guarantee to keep.
DataOptions data_options(const Config& config);

/// Deals the rows out to the config's agents.
RunData deal_data(DataPair pair, const Config& config);

/// Loads what the config names and deals it out to its agents. `reading` hears how much of a file
/// has been read, here and below.
RunData load_run_data(const Config& config, const LoadProgress& reading = {});

/// The data of many runs in one process: a data set is loaded once, and runs that deal it out alike
/// at the same time share the result. Each fold of a cross-validation is a copy of the data, so
/// that only those in use and the last one stay. May be used from several threads.
class RunDataCache {
 public:
  RunData get(const Config& config, const LoadProgress& reading = {});

 private:
  std::shared_ptr<const DataPair> load(const DataOptions& options, const std::string& key,
                                       const LoadProgress& reading);

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const DataPair>> loaded_;
  std::map<std::string, std::shared_ptr<const DataPair>> kept_;
  std::shared_ptr<const DataPair> last_fold_;
  std::map<std::string, std::weak_ptr<const Dataset>> dealt_;
};

}  // namespace porter
