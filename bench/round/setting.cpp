// SPDX-License-Identifier: Apache-2.0
#include "setting.hpp"

#include "porter/core/error.hpp"

namespace porter::bench {

Setting::Setting(const std::string& config_path, const std::vector<std::string>& overrides)
    : parts_(assemble(load_config(config_path, overrides))), pool_(parts_.config.run.threads) {
  require(parts_.config.privacy && parts_.config.privacy->sigma, ErrorKind::usage,
          "privacy.sigma: a benchmark states its noise");
  parts_.data.test.reset();
}

}  // namespace porter::bench
